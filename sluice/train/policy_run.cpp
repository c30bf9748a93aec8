#include "sluice/train/policy_run.hpp"

#include <fmt/format.h>

#include "sluice/memory/on_host.hpp"
#include "sluice/policies/policy_settings.hpp"

namespace sluice {

Result<Plan> plan_for_policy(const Workload& workload, const Machine& machine, const Profile& profile,
                             std::string_view policy, const FastBudget& fast) {
  SLUICE_RETURN_IF_ERROR(check_on_host(machine, "a policy"));
  const Graph& graph = workload.graph();
  SLUICE_ASSIGN(const std::vector<Bytes> budgets, resolve_budgets(graph, machine, policy, fast.size));
  SLUICE_ASSIGN(const PolicyRequest request, parse_policy(policy, budgets[kFastTier]));
  SLUICE_ASSIGN(Plan plan, plan_workload(workload, machine, profile, kBaselinePlanner, {.all_ops = true}));
  SLUICE_ASSIGN(const PolicyTimeline timeline,
                predict_policy(request, graph, CostModel(graph, profile, machine), machine));
  plan.planner = policy;
  plan.solver_status = "no plan: a policy";
  plan.policy = request;
  plan.predicted_step_seconds = timeline.steady().step_seconds;
  return plan;
}

Bytes usable_fast_bytes(const Plan& plan) { return plan.policy ? plan.policy->fast_bytes : plan.budgets.at(kFastTier); }

Status check_is_planner(std::string_view name) {
  if (find_policy_of(name) == nullptr) return {};
  return Error{
      ErrorCode::kBadInput,
      fmt::format("{} is a policy: it decides as accesses happen and has no plan; see what it does with sluice "
                  "simulate, train or compare",
                  name)};
}

}  // namespace sluice
