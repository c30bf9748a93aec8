#include "sluice/experiment/first_figures.hpp"

#include "sluice/experiment/machine_probe.hpp"
#include "sluice/measure/profiler.hpp"
#include "sluice/planners/registry/registry.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"
#include "sluice/policies/policy_settings.hpp"

namespace sluice {
namespace {

bool holds_everything(const Graph& graph, std::string_view planner, const FastBudget& fast) {
  if (!fast.size || planner == kBaselinePlanner) return true;
  const Bytes whole = fast_only_bytes(graph);
  return fast.size->resolve(whole) >= whole;
}

}  // namespace

bool times_matter(const Workload& workload, const Machine& machine, std::string_view planner) {
  return names_policy(planner) || machine.processor_count() > 1 || !workload.choices.empty() ||
         chooses_implementations(planner);
}

Result<std::optional<Plan>> plan_where_all_fits(const Workload& workload, const Machine& machine,
                                                const Profile& estimates, std::string_view planner,
                                                const FastBudget& fast) {
  if (!holds_everything(workload.graph(), planner, fast) || times_matter(workload, machine, planner)) {
    return std::optional<Plan>();
  }
  SLUICE_ASSIGN(Plan plan, plan_workload(workload, machine, estimates, planner, fast));
  return plan.migrations.empty() ? std::optional(std::move(plan)) : std::nullopt;
}

Result<Figures> first_figures(Workload& workload, const Machine& machine, ProfileCache& cache) {
  Figures figures{.machine = machine};
  SLUICE_ASSIGN(const bool shortly, look_at_machine(figures.machine, cache));
  SLUICE_ASSIGN(figures.profile,
                measure_profile(*workload.compiled, figures.machine, cache, {.most_seconds = kFirstLook}));
  figures.estimated = shortly || figures.profile.estimated_share > kHardlyMatters;
  return figures;
}

}  // namespace sluice
