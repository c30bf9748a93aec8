#include "tools/train_planning.hpp"

#include <algorithm>

#include "sluice/experiment/first_figures.hpp"
#include "sluice/train/planning/planning_advice.hpp"
#include "sluice/train/rank_agreement.hpp"
#include "tools/rank_run.hpp"
#include "tools/train_output.hpp"

namespace sluice::cli {
namespace {

Result<experiment::Beginning> beginning_of(const TrainArguments& arguments) {
  experiment::Beginning beginning{.planner = arguments.planner.name,
                                  .most_trials = arguments.trials,
                                  .times_given = !arguments.profile.times.empty(),
                                  .may_change = !arguments.no_replan};
  beginning.measured_before =
      !arguments.profile.accesses.empty() || !arguments.machine.network.empty() || arguments.machine.gpu;
  if (!arguments.budget.is_auto()) {
    SLUICE_ASSIGN(beginning.fast, arguments.budget.fixed());
  }
  return beginning;
}

Status seek_plan(const TrainArguments& arguments, bool at_once, Run& run) {
  SLUICE_RETURN_IF_ERROR(at_once
                             ? add_first_figures(run, arguments.machine)
                             : add_figures(run, arguments.machine, experiment::Probe::kUseCache, arguments.profile));
  SLUICE_ASSIGN(const train::FastBudget fast,
                budget_for(run, arguments.budget, arguments.machine, {arguments.planner.name}, arguments.session));
  PlannerArguments planner = arguments.planner;
  if (run.estimated) {
    planner.most_seconds =
        std::min(planner.most_seconds.value_or(experiment::kFirstPlanning), experiment::kFirstPlanning);
    planner.in_haste = true;
  }
  const AttendedPlanning attended(planner);
  Result<train::PlannedStart> start = train::start_planning(run.workload, run.machine, run.profile, planner.name, fast,
                                                            run.access_counts(), arguments.trials, attended.watch());
  if (!start.ok()) {
    return advised(run.workload, run.machine, run.profile, planner.name, fast, run.access_counts(), start.error());
  }
  run.start = std::move(*start);
  SLUICE_RETURN_IF_ERROR(attended.program_written());
  run.steps = run.start.run;
  return {};
}

Status plan_run(const TrainArguments& arguments, Run& run) {
  SLUICE_ASSIGN(static_cast<ModelOnMachine&>(run), build_model(arguments.workload, arguments.machine));
  SLUICE_ASSIGN(const experiment::Beginning beginning, beginning_of(arguments));
  SLUICE_ASSIGN(
      std::optional<experiment::PlanWhereAllFits> all_fits,
      experiment::plan_where_all_fits(run.workload, run.machine, arguments.machine.open_cache(run.machine), beginning));
  if (all_fits) {
    run.steps = std::move(all_fits->plan);
    run.profile = std::move(all_fits->profile);
    run.estimated = all_fits->estimated;
  } else {
    const bool at_once = experiment::may_begin_with_estimates(run.workload, run.machine, beginning);
    SLUICE_RETURN_IF_ERROR(seek_plan(arguments, at_once, run));
  }
  run.baseline = train::predicted_baseline_seconds(run.workload, run.machine, run.profile);
  run.figures = figures_json(run.profile, run.estimated);
  return {};
}

// The first rank measures and plans for all of them.
Status plan_together(const TrainArguments& arguments, kernels::Ranks& ranks, Run& run) {
  if (ranks.rank() == 0) {
    SLUICE_RETURN_IF_ERROR(plan_run(arguments, run));
  } else {
    SLUICE_ASSIGN(static_cast<ModelOnMachine&>(run), build_model(arguments.workload, arguments.machine));
  }
  SLUICE_RETURN_IF_ERROR(check_same_work(ranks, arguments, run.workload));
  SLUICE_RETURN_IF_ERROR(train::share_run(ranks, run.workload.graph(), run.steps));
  return program::check_plan(run.workload.graph(), run.machine, policies::plan_of(run.steps));
}

// A plan from a file needs no profile, so nothing is measured.
Status read_run(const TrainArguments& arguments, Run& run) {
  SLUICE_ASSIGN(PlannedModel model, read_planned_model(arguments.plan, arguments.workload, arguments.machine));
  run.steps = std::move(model.run);
  run.machine = std::move(model.machine);
  run.workload = std::move(model.workload);
  return program::check_plan(run.workload.graph(), run.machine, policies::plan_of(run.steps));
}

}  // namespace

Status make_run(const TrainArguments& arguments, Run& run) {
  if (!arguments.plan.empty()) return read_run(arguments, run);
  SLUICE_RETURN_IF_ERROR(arguments.budget.check());
  kernels::Ranks* const ranks = arguments.session.ranks;
  return ranks == nullptr ? plan_run(arguments, run) : plan_together(arguments, *ranks, run);
}

}  // namespace sluice::cli
