#include "sluice/train/policy_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/policies/policy_settings.hpp"

namespace sluice {
namespace {

constexpr std::string_view kPolicyFastBytes = "fast memory of the policy";  // key in Plan::planner_config, then bytes

}  // namespace

Result<Plan> plan_for_policy(const Workload& workload, const Machine& machine, const Profile& profile,
                             std::string_view policy, const FastBudget& fast) {
  const Graph& graph = workload.graph();
  SLUICE_ASSIGN(const std::vector<Bytes> budgets, resolve_budgets(graph, machine, policy, fast.size));
  SLUICE_ASSIGN(Plan plan, plan_workload(workload, machine, profile, kBaselinePlanner, {}));
  SLUICE_ASSIGN(const PolicyTimeline timeline,
                predict_policy(policy, graph, CostModel(graph, profile, machine), machine, budgets[kFastTier]));
  plan.planner = policy;
  plan.solver_status = "no plan: a policy";
  plan.planner_config = {{std::string(kPolicyFastBytes), std::to_string(budgets[kFastTier])}};
  plan.predicted_step_seconds = timeline.steady().step_seconds;
  return plan;
}

std::optional<PolicyRun> policy_run(const Plan& plan) {
  const auto entry =
      std::ranges::find(plan.planner_config, kPolicyFastBytes, &std::pair<std::string, std::string>::first);
  if (entry == plan.planner_config.end()) return std::nullopt;
  const Result<Bytes> bytes = parse_bytes(entry->second);
  return PolicyRun{plan.planner, bytes.ok() ? *bytes : 0};  // with no memory the policy refuses, and says so
}

Bytes usable_fast_bytes(const Plan& plan) {
  const std::optional<PolicyRun> run = policy_run(plan);
  return run ? run->fast_bytes : plan.budgets.at(kFastTier);
}

Status check_is_planner(std::string_view name) {
  if (find_policy_of(name) == nullptr) return {};
  return Error{
      ErrorCode::kBadInput,
      fmt::format("{} is a policy: it decides as accesses happen and has no plan; see what it does with sluice "
                  "simulate, train or compare",
                  name)};
}

}  // namespace sluice
