// ReDL (Rang, Yang, Li, Cheng): a placement by integer programming from the profile, Idle Migration for short-lived
// tensors, Dynamic Migration of long-lived ones by periods of whole layers, Direct Slow Memory Access for what is late,
// and a search for the period while steps run. docs/planners/redl.md says what is the paper's and what is ours.
//
// The placement is found once; every period proposed is a whole plan made from it, which costs a few milliseconds (some
// tens for ResNet-200).
#include <fmt/format.h>

#include <array>
#include <limits>
#include <map>

#include "sluice/base/as_index.hpp"
#include "sluice/planners/plan_search.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/redl/period_schedule.hpp"
#include "sluice/planners/redl/period_search.hpp"
#include "sluice/planners/schedule/intervals.hpp"
#include "sluice/planners/schedule/pack.hpp"
#include "sluice/planners/schedule/slow_rooms.hpp"

namespace sluice::planners {
namespace {

constexpr int kTrainingPatience = 5;    // rounds without gain, when each costs steps of training
constexpr int kSimulatedPatience = 12;  // when it costs milliseconds
constexpr double kGoal = 1.0005;        // of what the ops take alone: nothing left to hide

std::vector<Seconds> starts_without_waiting(const graph::Graph& graph, const profile::CostModel& costs) {
  std::vector<Seconds> start{0.0};
  for (graph::OpIndex op = 0; op < graph.op_count(); ++op) start.push_back(start.back() + costs.op_seconds(op));
  return start;
}

// The paper has one slow tier. Where there are more, each unit has its own from the beginning, first come, first
// served; nearer tiers keep an eighth of their room for what packing loses.
std::vector<MovingUnit> placed_units(const PlanRequest& request, const graph::Liveness& liveness,
                                     const std::vector<SlowTier>& slow) {
  std::vector<MovingUnit> units = find_moving_units(request.graph, liveness);
  std::vector<Bytes> capacities = request.budgets;
  for (Bytes& capacity : capacities) capacity -= capacity / 8;
  place_first_come(units, SlowRooms(slow, request.graph.op_count(), capacities));
  return units;
}

class Redl final : public PlanSearch {
 public:
  Redl(const PlanRequest& request, const std::vector<SlowTier>& slow)
      : request_(request),
        liveness_(graph::analyze_liveness(request.graph)),
        units_(placed_units(request, liveness_, slow)),
        costs_(request.graph, request.profile, request.machine),
        problem_{request.graph,
                 request.machine,
                 liveness_,
                 units_,
                 costs_,
                 slow,
                 starts_without_waiting(request.graph, costs_),
                 request.additions},
        capacities_(request.budgets) {}

  // Finds the placement and the first plan.
  Status start(int patience);

  const plan::Plan& plan() const override { return rounds_->done() ? best() : plans_.at(rounds_->period()); }
  bool done() const override { return rounds_->done(); }
  void observe(const StepObservation& observation) override;
  const plan::Plan& best() const override { return plans_.at(kept_); }
  SearchReport report() const override;

 private:
  Status try_rules(const StretchRules& rules);
  Result<plan::Plan> plan_for(int period);
  IntervalEstimate estimate(int period) const;
  int centre() const;
  int first_that_keeps_constraints() const;
  std::optional<Placement> place_units(const StretchRules& rules) const;
  bool has(RedlAddition addition) const { return request_.additions.has(addition); }
  int longest() const { return std::max(1, count_of(liveness_.spans)); }
  void propose();
  void describe(plan::Plan& plan, int period, const PeriodSchedule& schedule) const;

  const PlanRequest request_;
  graph::Liveness liveness_;
  std::vector<MovingUnit> units_;
  profile::CostModel costs_;
  RedlProblem problem_;
  std::vector<Bytes> capacities_;
  std::vector<StretchedUnit> stretches_;
  Placement placement_;
  std::optional<PeriodRounds> rounds_;
  std::map<int, plan::Plan> plans_;  // by period: the best one and the one to run
  int kept_ = 1;                     // the best period that was observed, or the first one
  int steps_ = 0;
};

IntervalEstimate Redl::estimate(int period) const {
  return estimate_intervals(request_.graph, liveness_, costs_, cut_into_intervals(liveness_, period),
                            request_.budgets[memory::kFastTier],
                            request_.machine.link(problem_.slow.front().inward).bandwidth);
}

// The period nearest to the median of the layers that keeps constraint (4): shorter ones ask for less room.
int Redl::centre() const {
  int period = std::max(1, longest() / 2);
  while (period > 1 && !estimate(period).space_ok) --period;
  return period;
}

// In the order of the paper's rounds: the median, one layer more, one less, two more... Where no period keeps (4) and
// (5), the one of those that keep (4) whose copies hide best; where none keeps (4), one layer.
int Redl::first_that_keeps_constraints() const {
  const int median = std::max(1, longest() / 2);
  int best = 1;
  std::optional<Seconds> least_exposed;
  for (int distance = 0; distance < longest(); ++distance) {
    for (const int period : {median + distance, median - distance}) {
      if (period < 1 || period > longest()) continue;
      const IntervalEstimate figures = estimate(period);
      if (!figures.space_ok || (least_exposed && figures.exposed_seconds >= *least_exposed)) continue;
      if (figures.exposed_seconds == 0) return period;
      least_exposed = figures.exposed_seconds;
      best = period;
    }
  }
  return best;
}

Result<plan::Plan> Redl::plan_for(int period) {
  PeriodSchedule schedule;
  const auto build_at = [&](const std::vector<Bytes>& capacities) -> std::optional<plan::PlanBuilder> {
    auto found = schedule_periods(problem_, stretches_, placement_, period, capacities[memory::kFastTier]);
    if (!found) return std::nullopt;
    schedule = std::move(*found);
    plan::PlanBuilder builder(request_.graph, request_.machine);
    for (std::size_t i = 0; i < units_.size(); ++i) {
      add_unit_schedule(builder, request_.graph, liveness_, units_[i], schedule.units[i]);
    }
    return builder;
  };
  SLUICE_ASSIGN(PackedPlan packed, pack_with_less_capacity(request_, capacities_, build_at));
  // The next plan will lose about as much to fragmentation: it need not find that out from the top.
  capacities_[memory::kFastTier] =
      std::min(request_.budgets[memory::kFastTier], packed.fast_capacity() + packed.fast_capacity() / 32);
  describe(packed.plan, period, schedule);
  return std::move(packed.plan);
}

// The paper's program has one tier a tensor, which only tiers that ops can address allow: elsewhere all would be fast.
std::optional<Placement> Redl::place_units(const StretchRules& rules) const {
  const Capacities capacities{.fast = request_.budgets[memory::kFastTier],
                              .slow = request_.budgets[as_index(problem_.slow.back().id)]};
  if (has(RedlAddition::kStretches) || !problem_.addressable()) return place(problem_, stretches_, capacities, {});
  StretchRules whole = rules;
  whole.undivided = true;
  std::optional<Placement> placement = place(problem_, find_stretches(problem_, whole), capacities, {});
  if (!placement) return std::nullopt;
  for (std::size_t i = 0; i < stretches_.size(); ++i) {
    UnitPlacement& unit = placement->units[i];
    const bool fast = unit.fast.empty() || unit.fast.front();
    unit = {.fast = std::vector<bool>(stretches_[i].stretches.size(), fast),
            .kept = std::vector<bool>(stretches_[i].gap_count(), fast)};
  }
  return placement;
}

Status Redl::try_rules(const StretchRules& rules) {
  stretches_ = find_stretches(problem_, rules);
  std::optional<Placement> placement = place_units(rules);
  if (!placement) {
    return Error{ErrorCode::kNoneFound,
                 "no placement keeps within the fast budget of " + format_bytes(request_.budgets[memory::kFastTier])};
  }
  placement_ = std::move(*placement);
  capacities_ = request_.budgets;
  kept_ = has(RedlAddition::kSearch) ? centre() : first_that_keeps_constraints();
  SLUICE_ASSIGN(plan::Plan plan, plan_for(kept_));
  plans_[kept_] = std::move(plan);
  return {};
}

Status Redl::start(int patience) {
  const std::array<StretchRules, 3> finer{{
      {},
      {.small_bytes = 0, .short_gaps = true},
      {.small_bytes = 0, .short_gaps = true, .short_lived_leave = true},
  }};
  Status status;
  for (const StretchRules& rules : finer) {
    status = try_rules(rules);
    if (status.ok()) break;
    if (!wants_more_room(status.error().code)) return status;
  }
  if (!status.ok()) return status;
  // Without the search the first period is as good as can be, whatever its step takes.
  const double goal = has(RedlAddition::kSearch) ? kGoal : std::numeric_limits<double>::infinity();
  rounds_.emplace(kept_, longest(), patience, goal * problem_.start.back());
  return {};
}

void Redl::observe(const StepObservation& observation) {
  SLUICE_CHECK(!done(), "the search is over");
  ++steps_;
  rounds_->observe(observation.seconds);
  propose();
}

// Makes the plan for the next period, passing over those that have none. The best one's plan stays.
void Redl::propose() {
  while (!rounds_->done() && !plans_.contains(rounds_->period())) {
    Result<plan::Plan> plan = plan_for(rounds_->period());
    if (!plan.ok()) {
      rounds_->observe(std::nullopt);
      continue;
    }
    plans_[rounds_->period()] = std::move(plan).value();
  }
  kept_ = rounds_->best();
  std::erase_if(plans_, [&](const auto& entry) {
    return entry.first != kept_ && (rounds_->done() || entry.first != rounds_->period());
  });
}

SearchReport Redl::report() const {
  return {.steps = steps_,
          .occasions = rounds_->rounds(),
          .summary = fmt::format("period {} of {} layers after {} rounds; placement: {}", kept_, longest(),
                                 rounds_->rounds(), placement_.status)};
}

std::vector<PlannerAddition> redl_additions() {
  return {{"stretches", "the placement decides for each stretch of uses and prices copies: not one tier for the step"},
          {"prices", "late tensors are waited for, and others moved, where that is cheaper than use in place"},
          {"search", "steps decide between periods, instead of constraints 4 and 5 alone"}};
}

void Redl::describe(plan::Plan& plan, int period, const PeriodSchedule& schedule) const {
  const IntervalEstimate figures = estimate(period);
  plan.solver_status = placement_.status;
  plan.planner_config = {
      {"period_layers", fmt::format("{}", period)},
      {"layers", fmt::format("{}", longest())},
      {"constraint_4_period_bytes", fmt::format("{}", figures.tensor_bytes)},
      {"constraint_4_room_bytes", fmt::format("{}", figures.room_bytes)},
      {"constraint_5_exposed_seconds", fmt::format("{:.6f}", figures.exposed_seconds)},
      {"additions", names_of_additions(request_.additions, redl_additions())},
      {"placement_lost_seconds", fmt::format("{:.6f}", placement_.lost_seconds)},
      {"placement_columns", fmt::format("{}", placement_.columns)},
      {"placement_rows", fmt::format("{}", placement_.rows)},
      {"stretches_brought", fmt::format("{}", schedule.brought)},
      {"stretches_placed_in_place", fmt::format("{}", schedule.placed_in_place)},
      {"stretches_late_in_place", fmt::format("{}", schedule.late_in_place)},
  };
}

Result<std::unique_ptr<Redl>> start_redl(const PlanRequest& request, int patience) {
  SLUICE_ASSIGN(const std::vector<SlowTier> slow, find_slow_tiers("redl", request.machine));
  auto search = std::make_unique<Redl>(request, slow);
  SLUICE_RETURN_IF_ERROR(search->start(patience));
  return search;
}

Result<std::unique_ptr<PlanSearch>> search_redl(const PlanRequest& request) {
  SLUICE_ASSIGN(std::unique_ptr<Redl> search, start_redl(request, kTrainingPatience));
  return std::unique_ptr<PlanSearch>(std::move(search));
}

Result<plan::Plan> plan_redl(const PlanRequest& request) {
  SLUICE_ASSIGN(const std::unique_ptr<Redl> search, start_redl(request, kSimulatedPatience));
  plan::Plan plan = settle_in_simulation(*search, request);
  plan.planner_config.push_back({"search_rounds", fmt::format("{}", search->report().occasions)});
  plan.planner_config.push_back({"search_steps", fmt::format("{}", search->report().steps)});
  return plan;
}

}  // namespace

PlannerEntry redl_planner() {
  return {.name = "redl",
          .summary = "place by integer programming, migrate by periods of layers, use in place what is late (ReDL)",
          .plan = plan_redl,
          .traits = {.decides = "integer program",
                     .profiles = true,
                     .moves = true,
                     .whole_step = true,
                     .all_tensors = true,
                     .any_graph = true,
                     .several_tiers = true},
          .search = search_redl,
          .additions = redl_additions()};
}

}  // namespace sluice::planners
