#include "sluice/train/planning/policy_run.hpp"

#include <fmt/format.h>

#include "sluice/memory/on_host.hpp"
#include "sluice/sim/dtr_simulator.hpp"
#include "sluice/sim/policy_simulator.hpp"

namespace sluice::train {
namespace {

Result<Seconds> step_seconds(const policies::ChosenPages& policy, const profile::CostModel& costs,
                             const graph::Graph& graph, const memory::Machine& machine) {
  SLUICE_ASSIGN(const sim::PolicyTimeline timeline, sim::predict_policy(policy, graph, costs, machine));
  return timeline.steady().step_seconds;
}

Result<Seconds> step_seconds(const policies::ChosenDtr& policy, const profile::CostModel& costs,
                             const graph::Graph& graph, const memory::Machine& machine) {
  SLUICE_ASSIGN(const sim::DtrTimeline timeline, sim::simulate_dtr(graph, costs, machine, policy.fast_bytes));
  return timeline.times.step_seconds;
}

Result<policies::Run> run_under_policy(const Workload& workload, const memory::Machine& machine,
                                       const profile::Profile& profile, std::string_view name, const FastBudget& fast) {
  const graph::Graph& graph = workload.graph();
  SLUICE_RETURN_IF_ERROR(memory::check_on_host(machine, "a policy"));
  SLUICE_ASSIGN(const std::vector<Bytes> budgets, resolve_budgets(graph, machine, name, fast.size));
  SLUICE_ASSIGN(const policies::ChosenPolicy policy, policies::choose_policy(name, budgets[memory::kFastTier]));
  SLUICE_ASSIGN(plan::Plan plan,
                plan_workload(workload, machine, profile, planners::kBaselinePlanner, {.all_ops = true}));
  const profile::CostModel costs(graph, profile, machine);
  SLUICE_ASSIGN(plan.predicted_step_seconds,
                std::visit([&](const auto& each) { return step_seconds(each, costs, graph, machine); }, policy));
  plan.planner = name;
  plan.solver_status = "no plan: a policy";
  return policies::run_under(policy, std::move(plan));
}

}  // namespace

Result<policies::Run> plan_run(const Workload& workload, const memory::Machine& machine,
                               const profile::Profile& profile, std::string_view planner, const FastBudget& fast,
                               const profile::AccessProfile* accesses,
                               std::shared_ptr<const planners::PlanningWatch> watch) {
  if (policies::names_policy(planner)) return run_under_policy(workload, machine, profile, planner, fast);
  SLUICE_ASSIGN(plan::Plan plan, plan_workload(workload, machine, profile, planner, fast, accesses, std::move(watch)));
  return policies::Run(std::move(plan));
}

Status check_is_planner(std::string_view name) {
  if (!policies::names_policy(name)) return {};
  return Error{ErrorCode::kBadInput,
               fmt::format("{} is a policy: it decides during the step and has no plan; see what it does with sluice "
                           "simulate, train or compare",
                           name)};
}

}  // namespace sluice::train
