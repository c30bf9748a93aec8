#include "sluice/experiment/first_figures.hpp"

#include "sluice/experiment/machine_probe.hpp"
#include "sluice/measure/profiler.hpp"
#include "sluice/planners/registry/registry.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"
#include "sluice/policies/policy_settings.hpp"
#include "sluice/profile/op_estimate.hpp"
#include "sluice/train/plan_changes/start.hpp"

namespace sluice::experiment {
namespace {

bool holds_everything(const graph::Graph& graph, std::string_view planner, const train::FastBudget& fast) {
  if (!fast.size || planner == planners::kBaselinePlanner) return true;
  const Bytes whole = planners::fast_only_bytes(graph);
  return fast.size->resolve(whole) >= whole;
}

// Whether more than transfers depends on how long ops take.
bool times_matter(const train::Workload& workload, const memory::Machine& machine, std::string_view planner) {
  return policies::names_policy(planner) || machine.processor_count() > 1 || !workload.choices.empty() ||
         planners::chooses_implementations(planner);
}

}  // namespace

bool may_begin_with_estimates(const train::Workload& workload, const memory::Machine& machine,
                              const Beginning& beginning) {
  return beginning.may_change && !beginning.times_given && !beginning.measured_before && beginning.fast &&
         !train::makes_trials(beginning.planner, machine, beginning.most_trials) &&
         !times_matter(workload, machine, beginning.planner) && !planners::wants_encodings(beginning.planner);
}

Result<std::optional<PlanWhereAllFits>> plan_where_all_fits(const train::Workload& workload,
                                                            const memory::Machine& machine,
                                                            const profile::ProfileCache& cache,
                                                            const Beginning& beginning) {
  const bool asks_for_more = !beginning.fast || beginning.times_given || beginning.most_trials.value_or(0) > 0;
  if (asks_for_more || times_matter(workload, machine, beginning.planner) ||
      !holds_everything(workload.graph(), beginning.planner, *beginning.fast)) {
    return std::optional<PlanWhereAllFits>();
  }
  PlanWhereAllFits found{.profile = profile::known_profile(workload.graph(), machine, cache)};
  found.estimated = found.profile.estimated_share > kHardlyMatters;
  SLUICE_ASSIGN(found.plan, train::plan_workload(workload, machine, found.profile, beginning.planner, *beginning.fast));
  return found.plan.migrations.empty() ? std::optional(std::move(found)) : std::nullopt;
}

Result<train::Figures> first_figures(train::Workload& workload, const memory::Machine& machine,
                                     profile::ProfileCache& cache) {
  train::Figures figures{.machine = machine};
  SLUICE_ASSIGN(const bool shortly, look_at_machine(figures.machine, cache));
  SLUICE_ASSIGN(figures.profile,
                measure::measure_profile(*workload.compiled, figures.machine, cache, {.most_seconds = kFirstLook}));
  figures.estimated = shortly || figures.profile.estimated_share > kHardlyMatters;
  return figures;
}

}  // namespace sluice::experiment
