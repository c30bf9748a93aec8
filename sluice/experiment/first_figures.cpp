#include "sluice/experiment/first_figures.hpp"

#include "sluice/experiment/machine_probe.hpp"
#include "sluice/experiment/plan_trials.hpp"
#include "sluice/measure/profiler.hpp"
#include "sluice/planners/registry/registry.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"
#include "sluice/policies/policy_settings.hpp"

namespace sluice::experiment {
namespace {

bool holds_everything(const graph::Graph& graph, std::string_view planner, const train::FastBudget& fast) {
  if (!fast.size || planner == planners::kBaselinePlanner) return true;
  const Bytes whole = planners::fast_only_bytes(graph);
  return fast.size->resolve(whole) >= whole;
}

}  // namespace

bool times_matter(const train::Workload& workload, const memory::Machine& machine, std::string_view planner) {
  return policies::names_policy(planner) || machine.processor_count() > 1 || !workload.choices.empty() ||
         planners::chooses_implementations(planner);
}

bool may_begin_with_estimates(const train::Workload& workload, const memory::Machine& machine, std::string_view planner,
                              const std::optional<std::int64_t>& most_steps) {
  const bool tries = most_steps ? *most_steps > 0 : tries_by_itself(planner, machine);
  return !tries && !times_matter(workload, machine, planner) && !planners::wants_encodings(planner);
}

Result<std::optional<plan::Plan>> plan_where_all_fits(const train::Workload& workload, const memory::Machine& machine,
                                                      const profile::Profile& estimates, std::string_view planner,
                                                      const train::FastBudget& fast) {
  if (!holds_everything(workload.graph(), planner, fast) || times_matter(workload, machine, planner)) {
    return std::optional<plan::Plan>();
  }
  SLUICE_ASSIGN(plan::Plan plan, train::plan_workload(workload, machine, estimates, planner, fast));
  return plan.migrations.empty() ? std::optional(std::move(plan)) : std::nullopt;
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
