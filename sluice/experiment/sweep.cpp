#include "sluice/experiment/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sluice/data/input_tensors.hpp"
#include "sluice/experiment/step_prediction.hpp"
#include "sluice/planners/bound/any_order_bound.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/smallest_budget.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"
#include "sluice/train/planning/policy_run.hpp"

namespace sluice::experiment {
namespace {

constexpr int kGridSteps = 100;        // of everything
constexpr int kBudgetsBelowTried = 3;  // of the grid, below the smallest one found
constexpr int kBudgetsTried = 11;      // usually: everything, seven by bisection, and those below

// Of a policy once it has found its balance; to and from the fast tier.
Status add_prediction(SweepPoint& point, const sim::PlannedStep& step, const policies::Run& run,
                      const memory::Machine& machine) {
  SLUICE_ASSIGN(const StepPrediction prediction, predict_step(step, run, machine));
  point.step_seconds = prediction.step_seconds();
  point.stall_seconds = prediction.stall_seconds();
  point.locality = prediction.policy ? prediction.policy->steady().locality() : prediction.locality.step;
  const MovedBytes moved = prediction.moved(machine);
  point.bytes_in = moved.in;
  point.bytes_out = moved.out;
  return {};
}

void add_plan_figures(SweepPoint& point, const sim::PlannedStep& step) {
  const plan::Plan& plan = step.plan();
  point.fast_operands = plan::operand_shares(step.graph(), plan);
  point.slow_bytes =
      std::accumulate(plan.arena_bytes.begin() + memory::kFastTier + 1, plan.arena_bytes.end(), Bytes{0});
}

MeasuredPoint measured_point(const ComparisonRow& row, const ComparisonRow& baseline) {
  return {row.slowdown.median,
          row.slowdown.min,
          row.slowdown.max,
          row.step_seconds.median,
          baseline.step_seconds.median,
          row.prediction_error(),
          row.other_choices || row.same_bits()};
}

std::string too_little(std::string_view planner, Bytes budget, Bytes smallest) {
  return fmt::format("{} cannot do with {}: the smallest budget it can use is {}", planner, format_bytes(budget),
                     format_bytes(smallest));
}

}  // namespace

BudgetSweep::BudgetSweep(const train::Workload& workload, const memory::Machine& machine,
                         const profile::Profile& profile, const profile::AccessProfile* accesses)
    : workload_(workload),
      machine_(machine),
      profile_(profile),
      accesses_(accesses),
      whole_(planners::fast_only_bytes(workload.graph())),
      baseline_seconds_(train::predicted_baseline_seconds(workload, machine, profile)) {}

SweptModel BudgetSweep::begin(std::string_view model) const {
  return {std::string(model), data::batch_size(workload_.graph()), whole_, baseline_seconds_, {}, {}};
}

void BudgetSweep::fail(SweepPoint& point, const Error& error) {
  point.failure = error.message;
  if (!wants_more_room(error.code)) return;
  const auto budgets = train::resolve_budgets(workload_.graph(), machine_, point.planner, MemorySize{point.budget});
  if (!budgets.ok()) return;
  const Result<Bytes> smallest =
      planners::smallest_feasible_bytes(point.planner, {workload_.graph(), profile_, machine_, *budgets});
  if (!smallest.ok()) {
    if (!wants_more_room(smallest.error().code)) point.failure = smallest.error().message;  // no budget would do
    return;
  }
  point.smallest_feasible = smallest_[point.planner] = *smallest;
  point.failure = too_little(point.planner, point.budget, *smallest);
}

SweepPoint BudgetSweep::predict(std::string_view planner, Bytes budget, bool bounded) {
  PlannedPoint best = predict_own(planner, budget);
  std::vector<PlannedPoint>& done = done_[best.point.planner];
  for (const PlannedPoint& other : done) {
    const bool faster = !best.point.feasible() || other.point.step_seconds < best.point.step_seconds;
    if (other.point.budget > best.point.budget || !faster) continue;
    const Bytes asked = best.point.budget;
    best = other;
    best.point.budget = asked;
  }
  if (bounded) best.point.bound_seconds = bound_of(best);
  if (best.point.feasible()) done.push_back(best);
  return best.point;
}

// Of any plan, in the point's budget.
Seconds BudgetSweep::bound_of(const PlannedPoint& planned) const {
  if (!planned.plan) return 0;
  plan::Plan plan = *planned.plan;
  plan.budgets[memory::kFastTier] = planned.point.budget;
  planners::certify_any_order(workload_.graph(), profile_, machine_, plan, planners::kBoundSeconds);
  return plan.lower_bound_seconds;
}

BudgetSweep::PlannedPoint BudgetSweep::predict_own(std::string_view planner, Bytes budget) {
  const Bytes whole_pages = align_down(budget, memory::kBlockAlignment);
  SweepPoint point{.planner = std::string(planner), .budget = whole_pages, .planned_for = whole_pages};
  const auto known = smallest_.find(planner);
  if (known != smallest_.end() && point.budget < known->second) {
    point.smallest_feasible = known->second;
    point.failure = too_little(planner, point.budget, known->second);
    return {std::move(point), std::nullopt};
  }
  Result<policies::Run> run =
      train::plan_run(workload_, machine_, profile_, planner, {MemorySize{point.budget}, false}, accesses_);
  if (!run.ok()) {
    fail(point, run.error());
    return {std::move(point), std::nullopt};
  }
  const auto step = sim::PlannedStep::make(workload_.graph(), profile_, machine_, policies::plan_of(*run)).value();
  const Status predicted = add_prediction(point, step, *run, machine_);
  if (!predicted.ok()) fail(point, predicted.error());
  point.slowdown = point.step_seconds / baseline_seconds_;
  if (!policies::is_planned(*run)) return {std::move(point), std::nullopt};
  add_plan_figures(point, step);
  return {std::move(point), step.plan()};
}

// Whether the budget does; then it is the one found.
bool BudgetSweep::tries_less(std::string_view planner, double allowed, Bytes budget, NoLossPoint& found) {
  SweepPoint point = predict(planner, budget);
  ++found.budgets_tried;
  if (!point.feasible() || point.slowdown > 1 + allowed) return false;
  found.point = std::move(point);
  return true;
}

NoLossPoint BudgetSweep::find_no_loss(std::string_view planner, double allowed, const OnBudget& on_budget) {
  NoLossPoint found{.allowed = allowed, .grid = whole_ / kGridSteps};
  const auto does_with = [&](int step) {
    if (on_budget) on_budget(found.budgets_tried, std::max(kBudgetsTried, found.budgets_tried));
    return tries_less(planner, allowed, step * found.grid, found);
  };
  found.point = predict(planner, whole_);
  found.budgets_tried = 1;
  if (!found.point.feasible()) return found;
  if (found.point.slowdown > 1 + allowed) {
    found.point.failure =
        fmt::format("{} loses {:.1f} % with all the memory it asks for", planner, 100 * (found.point.slowdown - 1));
    return found;
  }
  int loses = 0;  // grid steps: too small a budget
  int does = kGridSteps;
  while (does - loses > 1) {
    const int middle = loses + (does - loses) / 2;
    (does_with(middle) ? does : loses) = middle;
  }
  for (int below = 1; below <= kBudgetsBelowTried && does - below > 0; ++below) {
    const int step = does - below;
    if (step == loses || !does_with(step)) continue;
    does = step;
    below = 0;
  }
  return found;
}

Status BudgetSweep::measure(std::span<SweepPoint* const> points, ComparisonOptions options,
                            const ComparisonProgress& progress, const std::function<bool()>& stop) const {
  options.planners.clear();
  for (const SweepPoint* point : points) {
    if (!point->feasible()) continue;
    options.planners.push_back(point->planner);
    options.fast = {MemorySize{point->planned_for}, false};
  }
  if (options.planners.empty()) return {};
  SLUICE_ASSIGN(const ComparisonResult result,
                compare_planners(workload_, machine_, profile_, options, progress, stop));
  const std::vector<ComparisonRow>& rows = result.rows;
  const auto row_of = [&](std::string_view planner) {
    return std::ranges::find(rows, planner, &ComparisonRow::planner);
  };
  for (SweepPoint* point : points) {
    const auto row = row_of(point->planner);
    if (!point->feasible() || row == rows.end()) continue;
    if (row->failure) {
      point->failure = row->failure->message;
    } else {
      point->measured = measured_point(*row, *row_of(planners::kBaselinePlanner));
    }
  }
  return {};
}

}  // namespace sluice::experiment
