// Our own planner, first version: what moves and when, by prices of memory and links.
//
// 1. Prices. The linear program of the certified bound (planners/bound) says what fast memory is worth while each op
// runs,
//    and a link in each slot.
// 2. Rounding. A gap between two uses stays in the fast tier where its rent is below what going and coming back costs,
//    the clearest first, as long as there is room. Several ways to round make a plan each. Where the program does not
//    reckon with the machine, short gaps stay.
// 3. List schedule (list_schedule.hpp): the step is run in time, and copies begin when lane and room allow.
// 4. Choice by the simulator, sentinel's plan among them: no plan of this planner is predicted slower than that.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sluice/planners/bound/certified_bound.hpp"
#include "sluice/planners/joint/gap_order.hpp"
#include "sluice/planners/joint/list_schedule.hpp"
#include "sluice/planners/planner_name.hpp"
#include "sluice/planners/schedule/pack.hpp"
#include "sluice/planners/schedule/slow_rooms.hpp"
#include "sluice/program/program.hpp"
#include "sluice/sim/simulator.hpp"

namespace sluice {
namespace {

constexpr Seconds kPriceSeconds = 5;
constexpr std::string_view kFirstPlanBy = "sentinel";
constexpr double kMostRent = 1.05;  // of what moving costs, for a gap to stay: prices are of a fluid

struct Rounding {
  std::string_view name;
  double memory = 1;  // of the budget, when prices are sought: less leaves room for whole tensors; 0: without prices
  Bytes small_bytes = kSmallTensorBytes;  // units below stay
  bool move_short_lived = false;
};

constexpr std::array kRoundings{
    Rounding{.name = "short gaps", .memory = 0},
    Rounding{.name = "short gaps of all", .memory = 0, .small_bytes = 16 * kKiB, .move_short_lived = true},
    Rounding{.name = "prices"},
    Rounding{.name = "prices of 90 %", .memory = 0.9},
    Rounding{.name = "prices of 80 %", .memory = 0.8},
    Rounding{.name = "prices, small ones too", .small_bytes = 64 * kKiB},
    Rounding{.name = "prices of all", .small_bytes = 16 * kKiB, .move_short_lived = true},
};

// What a plan is laid out from.
struct Draft {
  std::vector<Gap> gaps;
  GapOrder order;  // that may stay
};

class JointSearch {
 public:
  JointSearch(const PlanRequest& request, std::vector<SlowTier> slow)
      : request_(request),
        slow_(std::move(slow)),
        liveness_(analyze_liveness(request.graph)),
        units_(find_moving_units(request.graph, liveness_)),
        costs_(request.graph, request.profile, request.machine),
        op_count_(request.graph.op_count()) {
    place_first_come(units_, SlowRooms(slow_, op_count_, request.budgets));
  }

  void consider(Plan plan, std::string_view made_by) {
    const Seconds seconds = simulate(lower_plan(request_.graph, request_.machine, plan).value(), costs_).step_seconds;
    ++considered_;
    if (best_ && seconds >= seconds_) return;
    best_ = std::move(plan);
    seconds_ = seconds;
    made_by_ = made_by;
  }

  void try_roundings() {
    for (const Rounding& rounding : kRoundings) {
      if (const std::optional<Draft> draft = draft_of(rounding)) try_draft(rounding, *draft);
    }
  }

  std::optional<Plan> take_best() {
    if (!best_) return std::nullopt;
    best_->planner_config.emplace_back("made_by", made_by_);
    best_->planner_config.emplace_back("plans_compared", fmt::format("{}", considered_));
    return std::move(best_);
  }

 private:
  std::optional<Draft> draft_of(const Rounding& rounding) {
    Draft draft{.gaps = find_gaps(units_, op_count_, rounding.small_bytes, rounding.move_short_lived), .order = {}};
    if (rounding.memory == 0) {
      draft.order = order_by_length(draft.gaps, units_, costs_, op_count_);
      return draft;
    }
    if (request_.draft) return std::nullopt;
    std::vector<Bytes> budgets = request_.budgets;
    budgets[kFastTier] = static_cast<Bytes>(rounding.memory * static_cast<double>(budgets[kFastTier]));
    const auto bound =
        certified_bound(request_.graph, costs_, request_.machine, budgets, Encoding::kNone, kPriceSeconds);
    if (!bound) return std::nullopt;
    const Payments payments(two_way_link(costs_, request_.machine), bound->prices);
    draft.order = order_by_price(draft.gaps, units_, payments, op_count_, kMostRent);
    return draft;
  }

  // With as much capacity as packs.
  void try_draft(const Rounding& rounding, const Draft& draft) {
    const auto build = [&](const std::vector<Bytes>& capacities) { return laid_out(draft, capacities); };
    Result<PackedPlan> packed = pack_with_less_capacity(request_, request_.budgets, build);
    if (!packed.ok()) return;
    consider(pack_with_more_capacity(request_, std::move(packed).value(), build).plan, rounding.name);
  }

  // Decides what stays, and when copies run. False when an op's operands do not fit.
  bool place(const GapOrder& order, Bytes capacity, std::vector<Gap>& gaps) const {
    ReservationTable table(op_count_, capacity);
    cut_all(units_, gaps, op_count_, table);
    if (!table.fits({0, op_count_}, 0)) return false;
    for (const std::size_t i : order) keep_if_fits(gaps[i], op_count_, table);
    list_schedule(units_, costs_, op_count_, gaps, table);
    return true;
  }

  std::optional<PlanBuilder> laid_out(const Draft& draft, const std::vector<Bytes>& capacities) const {
    std::vector<Gap> gaps = draft.gaps;
    if (!place(draft.order, capacities[kFastTier], gaps)) return std::nullopt;
    PlanBuilder builder(request_.graph, request_.machine);
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
  std::optional<Plan> best_;
  Seconds seconds_ = 0;
  std::string made_by_;
  int considered_ = 0;
};

Result<Plan> plan_joint(const PlanRequest& request) {
  SLUICE_ASSIGN(std::vector<SlowTier> slow, find_slow_tiers("joint", request.machine));
  JointSearch search(request, std::move(slow));
  const ChosenPlanner sentinel = choose_planner(kFirstPlanBy).value();
  PlanRequest asked = request;
  asked.additions = sentinel.additions;
  Result<Plan> first = sentinel.entry->plan(asked);
  if (first.ok()) search.consider(std::move(first).value(), kFirstPlanBy);
  search.try_roundings();
  if (std::optional<Plan> best = search.take_best()) return *std::move(best);
  return first.error();
}

}  // namespace

PlannerEntry joint_planner() {
  return {.name = "joint",
          .summary = "what moves and when, by prices of memory and links; never predicted slower than sentinel",
          .plan = plan_joint};
}

}  // namespace sluice
