#include "sluice/planners/joint/rounding.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/planners/bound/certified_bound.hpp"
#include "sluice/planners/bound/in_place_costs.hpp"
#include "sluice/planners/joint/in_place_search.hpp"
#include "sluice/planners/joint/joint_additions.hpp"
#include "sluice/planners/joint/list_schedule.hpp"

namespace sluice::planners {
namespace {

constexpr double kMostRent = 1.05;  // of what moving costs, for a gap to stay: prices are of a fluid
constexpr double kPacked = 0.95;    // of the budget: packing loses some
constexpr std::array kInPlaceWeights{1.0, 0.5, 0.7, 1.2, 1.4, 2.0, 4.0, 1e9};
// Ops that list schedules go through while choices between fast and slow memory are tried: a second or so.
constexpr int kMostOpsTried = 400'000;
constexpr int kMostOpsTriedDraft = 30'000;

plan::StepPrices mean_of(const plan::StepPrices& a, const plan::StepPrices& b) {
  plan::StepPrices mean = a;
  const auto of_slots = [](std::vector<plan::SlotPrice>& own, const std::vector<plan::SlotPrice>& other) {
    for (std::size_t i = 0; i < own.size(); ++i) {
      own[i] = {(own[i][0] + other[i][0]) / 2, (own[i][1] + other[i][1]) / 2};
    }
  };
  for (std::size_t i = 0; i < mean.room.size(); ++i) mean.room[i] = (mean.room[i] + b.room[i]) / 2;
  of_slots(mean.run, b.run);
  of_slots(mean.stall, b.stall);
  return mean;
}

}  // namespace

Rounder::Rounder(const PlanRequest& request, std::vector<SlowTier> slow, std::optional<plan::StepPrices> prices)
    : request_(request),
      liveness_(graph::analyze_liveness(request.graph)),
      units_(find_moving_units(request.graph, liveness_)),
      costs_(request.graph, request.profile, request.machine),
      op_count_(request.graph.op_count()),
      encodes_(request.additions.has(JointAddition::kEncode)),
      no_schedule_(request.graph, request.machine) {
  place_first_come(units_, SlowRooms(slow, op_count_, request.budgets));
  if (encodes_) encode_where_worth(request_.machine, costs_, units_);
  for (const SlowTier& tier : slow) {
    if (request.machine.addresses(kMainProcessor, tier.id)) usable_.insert(tier.id);
  }
  if (any_addressable()) in_place_ = in_place_costs(request.graph, costs_, request.machine);
  if (prices) prices_[1] = std::move(prices);
}

std::optional<Draft> Rounder::draft_of(const Rounding& rounding, Care care) {
  if (rounding.memory == 0) return unpriced_draft(rounding);
  if (care == Care::kDraft && !prices_.contains(rounding.memory)) return std::nullopt;
  const std::optional<plan::StepPrices>& prices = prices_for(rounding.memory);
  if (!prices) return std::nullopt;
  return priced_draft(rounding, *prices, care);
}

Draft Rounder::unpriced_draft(const Rounding& rounding) const {
  Draft draft{.gaps = find_gaps(units_, op_count_, rounding.small_bytes, rounding.move_short_lived), .order = {}};
  draft.order = order_by_length(draft.gaps, units_, costs_, op_count_);
  return draft;
}

Draft Rounder::priced_draft(const Rounding& rounding, const plan::StepPrices& prices, Care care) const {
  const plan::Payments payments(two_way_link(costs_, request_.machine), prices);
  std::vector<Gap> gaps = find_gaps(units_, op_count_, rounding.small_bytes, rounding.move_short_lived,
                                    rounding.in_place ? usable_ : std::set<memory::TierId>{});
  GapOrder order = order_by_price(gaps, units_, costs_, payments, op_count_, kMostRent);
  Draft draft{std::move(gaps), std::move(order)};
  return rounding.in_place ? used_in_place(payments, std::move(draft), care) : draft;
}

Draft Rounder::used_in_place(const plan::Payments& payments, Draft draft, Care care) const {
  const auto with = [&](const std::set<PrefetchKey>& slow) {
    Draft changed = draft;
    leave_in_slow(changed.gaps, slow);
    return changed;
  };
  InPlaceSearch search([&](const std::set<PrefetchKey>& slow) {
    return estimate(with(slow)).value_or(std::numeric_limits<Seconds>::infinity());
  });
  for (const double weight : kInPlaceWeights) {
    search.begin_at(cheapest_lives(units_, draft.gaps, liveness_, in_place_, payments, usable_, op_count_, weight));
  }
  // As little fast memory as can be: where the others do not fit.
  std::vector<InPlaceChoice> all_slow =
      cheapest_lives(units_, draft.gaps, liveness_, in_place_, payments, usable_, op_count_, 1);
  for (InPlaceChoice& each : all_slow) each.slow = true;
  search.begin_at(std::move(all_slow));
  const int most_ops = care == Care::kDraft ? kMostOpsTriedDraft : kMostOpsTried;
  search.improve(most_ops / std::max(1, op_count_), [&] { return request_.stopped(); });
  return with(search.slow());
}

const std::optional<plan::StepPrices>& Rounder::prices_for(double memory) {
  const auto [known, is_new] = prices_.try_emplace(memory);
  if (!is_new) return known->second;
  if (memory == kBetween) {
    const std::optional<plan::StepPrices>& most = prices_for(1);
    const std::optional<plan::StepPrices>& least = prices_for(kTighter);
    if (most && least) known->second = mean_of(*most, *least);
    return known->second;
  }
  std::vector<Bytes> budgets = request_.budgets;
  budgets[memory::kFastTier] = share_of(memory, budgets[memory::kFastTier]);
  auto bound = certified_bound(request_.graph, costs_, request_.machine, budgets, encodes_, kPriceSeconds);
  if (bound) known->second = std::move(bound->prices);
  return known->second;
}

std::optional<Seconds> Rounder::estimate(const Draft& draft) const {
  const Bytes budget = request_.budgets[memory::kFastTier];
  for (const Bytes capacity : {share_of(kPacked, budget), budget}) {
    std::vector<Gap> gaps = draft.gaps;
    if (const std::optional<Seconds> seconds = place(draft.order, capacity, gaps)) return seconds;
  }
  return std::nullopt;
}

// Decides what stays, and when copies run.
std::optional<Seconds> Rounder::place(const GapOrder& order, Bytes capacity, std::vector<Gap>& gaps) const {
  ReservationTable table(op_count_, capacity);
  cut_all(units_, gaps, op_count_, table);
  release_uses_in_slow(units_, gaps, table);
  if (!table.fits({0, op_count_}, 0)) return std::nullopt;
  for (const std::size_t i : order) {
    if (gaps[i].cut) keep_if_fits(gaps[i], op_count_, table);
  }
  return list_schedule(units_, costs_, op_count_, gaps, table, op_seconds(gaps));
}

// With operands where the gaps leave them.
std::vector<Seconds> Rounder::op_seconds(const std::vector<Gap>& gaps) const {
  std::map<graph::OpIndex, std::vector<memory::TierId>> tiers;
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    if (!gaps[i].left_slow()) continue;
    const MovingUnit& unit = units_[gaps[i].unit];
    for (const graph::Use& use : uses_behind(gaps, i, unit.uses)) {
      const graph::Op& op = request_.graph.op(use.op);
      std::vector<memory::TierId>& of_op = tiers[use.op];
      of_op.resize(op.inputs.size() + op.outputs.size(), memory::kFastTier);
      for (std::size_t k = 0; k < of_op.size(); ++k) {
        const graph::TensorId id = k < op.inputs.size() ? op.inputs[k] : op.outputs[k - op.inputs.size()];
        if (std::ranges::find(unit.tensors, id) != unit.tensors.end()) of_op[k] = unit.slow.id;
      }
    }
  }
  std::vector<Seconds> seconds;
  for (graph::OpIndex op = 0; op < op_count_; ++op) {
    const auto slow = tiers.find(op);
    seconds.push_back(slow == tiers.end() ? costs_.op_seconds(op) : costs_.op_seconds(op, slow->second));
  }
  return seconds;
}

std::optional<plan::PlanBuilder> Rounder::laid_out(const Draft& draft, const std::vector<Bytes>& capacities) const {
  std::vector<Gap> gaps = draft.gaps;
  if (!place(draft.order, capacities[memory::kFastTier], gaps)) return std::nullopt;
  plan::PlanBuilder builder = no_schedule_;
  auto gap = gaps.begin();
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const auto begin = gap;
    gap = std::find_if(begin, gaps.end(), [&](const Gap& other) { return other.unit != i; });
    const TensorSchedule schedule = schedule_of(units_[i], {begin, gap}, {.leaves = plan::Cause::kRoomForOthers});
    add_unit_schedule(builder, request_.graph, liveness_, units_[i], schedule);
  }
  return builder;
}

}  // namespace sluice::planners
