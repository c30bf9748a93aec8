#include "sluice/planners/joint/moves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "sluice/planners/bound/certified_bound.hpp"
#include "sluice/planners/joint/gap_order.hpp"
#include "sluice/planners/joint/joint_additions.hpp"
#include "sluice/planners/joint/list_schedule.hpp"
#include "sluice/planners/planner_name.hpp"
#include "sluice/planners/schedule/pack.hpp"
#include "sluice/planners/schedule/slow_rooms.hpp"
#include "sluice/planners/schedule/unit_encodings.hpp"
#include "sluice/program/program.hpp"
#include "sluice/sim/simulator.hpp"

namespace sluice {
namespace {

constexpr std::string_view kFirstPlanBy = "sentinel";
constexpr std::string_view kEncodedBy = "sentinel:additions=choice+staying+in-place+ahead+prices+encode";
constexpr std::size_t kMostSearched = 3;  // drafts that the exact search packs
constexpr double kMostRent = 1.05;        // of what moving costs, for a gap to stay: prices are of a fluid

constexpr double kTighter = 0.8;
constexpr double kBetween = 0.9;

struct Rounding {
  std::string_view name;
  // Of the budget, when prices are sought: less leaves room for whole tensors; 0: without prices; kBetween: the mean of
  // the prices of all and of 80 %, which is as good as those of 90 % and costs no linear program.
  double memory = 1;
  Bytes small_bytes = kSmallTensorBytes;  // units below stay
  bool move_short_lived = false;
};

constexpr std::array kRoundings{
    Rounding{.name = "short gaps", .memory = 0},
    Rounding{.name = "short gaps of all", .memory = 0, .small_bytes = 16 * kKiB, .move_short_lived = true},
    Rounding{.name = "prices"},
    Rounding{.name = "prices of 90 %", .memory = kBetween},
    Rounding{.name = "prices of 80 %", .memory = kTighter},
    Rounding{.name = "prices, small ones too", .small_bytes = 64 * kKiB},
    Rounding{.name = "prices of all", .small_bytes = 16 * kKiB, .move_short_lived = true},
};

StepPrices mean_of(const StepPrices& a, const StepPrices& b) {
  StepPrices mean = a;
  const auto of_slots = [](std::vector<SlotPrice>& own, const std::vector<SlotPrice>& other) {
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

class MovesSearch {
 public:
  MovesSearch(const PlanRequest& request, std::vector<SlowTier> slow, std::optional<StepPrices> prices)
      : request_(request),
        slow_(std::move(slow)),
        liveness_(analyze_liveness(request.graph)),
        units_(find_moving_units(request.graph, liveness_)),
        costs_(request.graph, request.profile, request.machine),
        op_count_(request.graph.op_count()),
        no_schedule_(request.graph, request.machine) {
    place_first_come(units_, SlowRooms(slow_, op_count_, request.budgets));
    if (encodes()) encode_where_worth(request_, costs_, units_);
    if (prices) prices_[1] = std::move(prices);
  }

  Seconds consider(Plan plan, std::string_view made_by) {
    const Program program = lower_plan(request_.graph, request_.machine, plan).value();
    const Seconds seconds = simulate(program, costs_).step_seconds;
    ++considered_;
    if (best_ && seconds >= seconds_) return seconds;
    best_ = std::move(plan);
    seconds_ = seconds;
    made_by_ = made_by;
    return seconds;
  }

  // By the packing portfolio, those for which there are prices.
  void draft_roundings() {
    drafting_ = true;
    try_roundings();
    drafting_ = false;
  }

  // All by the packing portfolio, and the few that come out best with the exact search.
  void plan_roundings() {
    try_roundings();
    std::ranges::stable_sort(drafts_, {}, &PackedDraft::seconds);
    drafts_.resize(std::min(drafts_.size(), kMostSearched));
    for (PackedDraft& each : drafts_) {
      if (request_.stopped()) return;
      const auto build = [&](const std::vector<Bytes>& capacities) { return laid_out(each.draft, capacities); };
      consider(pack_with_more_capacity(request_, std::move(each.packed), build).plan, each.made_by);
    }
  }

  void try_until_first() {
    for (const Rounding& rounding : kRoundings) {
      if (best_ || rounding.memory > 0) continue;
      try_draft(rounding, *draft_of(rounding));
    }
  }

  // By the list schedule alone.
  std::optional<Seconds> estimate() {
    constexpr double kPacked = 0.95;  // of the budget: packing loses some
    const auto capacity = static_cast<Bytes>(kPacked * static_cast<double>(request_.budgets[kFastTier]));
    std::optional<Seconds> least;
    for (const Rounding& rounding : kRoundings) {
      if (rounding.memory > 0) continue;
      const std::optional<Draft> draft = draft_of(rounding);
      std::vector<Gap> gaps = draft->gaps;
      const std::optional<Seconds> seconds = place(draft->order, capacity, gaps);
      if (seconds) least = std::min(*seconds, least.value_or(*seconds));
    }
    return least;
  }

  std::optional<TimedPlan> best() const {
    if (!best_) return std::nullopt;
    TimedPlan best{*best_, seconds_};
    best.plan.planner_config.emplace_back("made_by", made_by_);
    best.plan.planner_config.emplace_back("plans_compared", fmt::format("{}", considered_));
    return best;
  }

 private:
  // What a plan is laid out from.
  struct Draft {
    std::vector<Gap> gaps;
    GapOrder order;  // that may stay
  };

  struct PackedDraft {
    Draft draft;
    PackedPlan packed;
    Seconds seconds = 0;
    std::string_view made_by;
  };

  void try_roundings() {
    for (const Rounding& rounding : kRoundings) {
      if (best_ && request_.stopped()) return;
      if (tried_.contains(rounding.name)) continue;
      if (const std::optional<Draft> draft = draft_of(rounding)) try_draft(rounding, *draft);
    }
  }

  bool encodes() const { return request_.additions.has(JointAddition::kEncode); }

  std::optional<Draft> draft_of(const Rounding& rounding) {
    Draft draft{.gaps = find_gaps(units_, op_count_, rounding.small_bytes, rounding.move_short_lived), .order = {}};
    if (rounding.memory == 0) {
      draft.order = order_by_length(draft.gaps, units_, costs_, op_count_);
      return draft;
    }
    if (drafting_ && !prices_.contains(rounding.memory)) return std::nullopt;
    const std::optional<StepPrices>& prices = prices_for(rounding.memory);
    if (!prices) return std::nullopt;
    const Payments payments(two_way_link(costs_, request_.machine), *prices);
    draft.order = order_by_price(draft.gaps, units_, costs_, payments, op_count_, kMostRent);
    return draft;
  }

  const std::optional<StepPrices>& prices_for(double memory) {
    const auto [known, is_new] = prices_.try_emplace(memory);
    if (!is_new) return known->second;
    if (memory == kBetween) {
      const std::optional<StepPrices>& most = prices_for(1);
      const std::optional<StepPrices>& least = prices_for(kTighter);
      if (most && least) known->second = mean_of(*most, *least);
      return known->second;
    }
    std::vector<Bytes> budgets = request_.budgets;
    budgets[kFastTier] = static_cast<Bytes>(memory * static_cast<double>(budgets[kFastTier]));
    auto bound = certified_bound(request_.graph, costs_, request_.machine, budgets, encodes(), kPriceSeconds);
    if (bound) known->second = std::move(bound->prices);
    return known->second;
  }

  // With as much capacity as the portfolio packs.
  void try_draft(const Rounding& rounding, const Draft& draft) {
    tried_.insert(rounding.name);
    const auto build = [&](const std::vector<Bytes>& capacities) { return laid_out(draft, capacities); };
    Result<PackedPlan> packed = pack_with_less_capacity(request_, request_.budgets, build);
    if (!packed.ok()) return;
    const Seconds seconds = consider(packed->plan, rounding.name);
    drafts_.push_back({draft, std::move(packed).value(), seconds, rounding.name});
  }

  // Decides what stays, and when copies run; returns when the step ends. Nothing when an op's operands do not fit.
  std::optional<Seconds> place(const GapOrder& order, Bytes capacity, std::vector<Gap>& gaps) const {
    ReservationTable table(op_count_, capacity);
    cut_all(units_, gaps, op_count_, table);
    if (!table.fits({0, op_count_}, 0)) return std::nullopt;
    for (const std::size_t i : order) keep_if_fits(gaps[i], op_count_, table);
    return list_schedule(units_, costs_, op_count_, gaps, table);
  }

  std::optional<PlanBuilder> laid_out(const Draft& draft, const std::vector<Bytes>& capacities) const {
    std::vector<Gap> gaps = draft.gaps;
    if (!place(draft.order, capacities[kFastTier], gaps)) return std::nullopt;
    PlanBuilder builder = no_schedule_;
    auto gap = gaps.begin();
    for (std::size_t i = 0; i < units_.size(); ++i) {
      const auto begin = gap;
      gap = std::find_if(begin, gaps.end(), [&](const Gap& other) { return other.unit != i; });
      const TensorSchedule schedule = schedule_of(units_[i], {begin, gap}, {.leaves = Cause::kRoomForOthers});
      add_unit_schedule(builder, request_.graph, liveness_, units_[i], schedule);
    }
    return builder;
  }

  const PlanRequest& request_;
  std::vector<SlowTier> slow_;
  Liveness liveness_;
  std::vector<MovingUnit> units_;
  CostModel costs_;
  OpIndex op_count_;
  PlanBuilder no_schedule_;                             // what every plan begins as; making one reads the whole graph
  std::map<double, std::optional<StepPrices>> prices_;  // by share of the budget
  bool drafting_ = false;
  std::set<std::string_view> tried_;  // roundings
  std::vector<PackedDraft> drafts_;
  std::optional<Plan> best_;
  Seconds seconds_ = 0;
  std::string made_by_;
  int considered_ = 0;
};

MovesPlanner::MovesPlanner(const PlanRequest& request, std::optional<StepPrices> prices) {
  Result<std::vector<SlowTier>> slow = find_slow_tiers("joint", request.machine);
  if (slow.ok()) search_ = std::make_unique<MovesSearch>(request, std::move(slow).value(), std::move(prices));
}

MovesPlanner::~MovesPlanner() = default;

std::optional<TimedPlan> MovesPlanner::first() {
  if (search_ == nullptr) return std::nullopt;
  search_->try_until_first();
  return search_->best();
}

std::optional<TimedPlan> MovesPlanner::draft() {
  if (search_ == nullptr) return std::nullopt;
  search_->draft_roundings();
  return search_->best();
}

std::optional<TimedPlan> MovesPlanner::plan() {
  if (search_ == nullptr) return std::nullopt;
  search_->plan_roundings();
  return search_->best();
}

std::optional<Seconds> MovesPlanner::estimate() { return search_ == nullptr ? std::nullopt : search_->estimate(); }

Result<TimedPlan> plan_by_sentinel(const PlanRequest& request) {
  const bool encodes = request.additions.has(JointAddition::kEncode);
  const ChosenPlanner sentinel = choose_planner(encodes ? kEncodedBy : kFirstPlanBy).value();
  PlanRequest asked = request;
  asked.additions = sentinel.additions;
  SLUICE_ASSIGN(Plan plan, sentinel.entry->plan(asked));
  plan.planner_config.emplace_back("made_by", kFirstPlanBy);
  const Seconds seconds = simulated_seconds(request, plan);
  return TimedPlan{std::move(plan), seconds};
}

}  // namespace sluice
