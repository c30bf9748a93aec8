#include "sluice/train/policy_run.hpp"

#include <fmt/format.h>

#include "sluice/memory/on_host.hpp"
#include "sluice/policies/policy_settings.hpp"
#include "sluice/sim/dtr_simulator.hpp"

namespace sluice::train {
namespace {

Result<plan::Plan> plan_for_dtr(const Workload& workload, const memory::Machine& machine,
                                const profile::Profile& profile, const plan::PolicyRequest& request) {
  SLUICE_ASSIGN(plan::Plan plan,
                plan_workload(workload, machine, profile, planners::kBaselinePlanner, {.all_ops = true}));
  const profile::CostModel costs(workload.graph(), profile, machine);
  SLUICE_ASSIGN(const sim::DtrTimeline timeline,
                sim::simulate_dtr(workload.graph(), costs, machine, request.fast_bytes));
  plan.predicted_step_seconds = timeline.times.step_seconds;
  return plan;
}

Result<plan::Plan> plan_for_pages(const Workload& workload, const memory::Machine& machine,
                                  const profile::Profile& profile, const plan::PolicyRequest& request) {
  const graph::Graph& graph = workload.graph();
  SLUICE_ASSIGN(plan::Plan plan,
                plan_workload(workload, machine, profile, planners::kBaselinePlanner, {.all_ops = true}));
  SLUICE_ASSIGN(const sim::PolicyTimeline timeline,
                sim::predict_policy(request, graph, profile::CostModel(graph, profile, machine), machine));
  plan.predicted_step_seconds = timeline.steady().step_seconds;
  return plan;
}

}  // namespace

Result<plan::Plan> plan_for_policy(const Workload& workload, const memory::Machine& machine,
                                   const profile::Profile& profile, std::string_view policy, const FastBudget& fast) {
  SLUICE_RETURN_IF_ERROR(memory::check_on_host(machine, "a policy"));
  SLUICE_ASSIGN(const std::vector<Bytes> budgets, resolve_budgets(workload.graph(), machine, policy, fast.size));
  SLUICE_ASSIGN(const plan::PolicyRequest request, policies::parse_policy(policy, budgets[memory::kFastTier]));
  SLUICE_ASSIGN(plan::Plan plan, policies::is_dtr(request) ? plan_for_dtr(workload, machine, profile, request)
                                                           : plan_for_pages(workload, machine, profile, request));
  plan.planner = policy;
  plan.solver_status = "no plan: a policy";
  plan.policy = request;
  return plan;
}

Bytes usable_fast_bytes(const plan::Plan& plan) {
  return plan.policy ? plan.policy->fast_bytes : plan.budgets.at(memory::kFastTier);
}

Bytes fast_arena_bytes(const plan::Plan& plan) {
  return plan.policy && policies::is_dtr(*plan.policy) ? plan.policy->fast_bytes
                                                       : plan.arena_bytes.at(memory::kFastTier);
}

Status check_is_planner(std::string_view name) {
  if (!policies::names_policy(name)) return {};
  return Error{ErrorCode::kBadInput,
               fmt::format("{} is a policy: it decides during the step and has no plan; see what it does with sluice "
                           "simulate, train or compare",
                           name)};
}

}  // namespace sluice::train
