#include "sluice/train/planning.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sluice {

Result<std::vector<Bytes>> resolve_budgets(const Graph& graph, const Machine& machine, std::string_view planner,
                                           const std::optional<MemorySize>& fast) {
  std::vector<Bytes> budgets;
  for (const Tier& tier : machine.tiers) budgets.push_back(align_down(tier.capacity, kTensorAlignment));
  const Bytes whole = fast_only_bytes(graph);
  const bool everything = !fast || planner == kBaselinePlanner;
  const Bytes wanted = everything ? whole : align_down(fast->resolve(whole), kTensorAlignment);
  if (wanted > budgets[kFastTier]) {
    return Error{ErrorCode::kInfeasible,
                 fmt::format("{} wants {} of tier '{}', which has {}; set a smaller --fast, or make the batch smaller",
                             planner, format_bytes(wanted), machine.tier(kFastTier).name,
                             format_bytes(machine.tier(kFastTier).capacity))};
  }
  budgets[kFastTier] = wanted;
  return budgets;
}

Result<Plan> plan_workload(const Workload& workload, const Machine& machine, const Profile& profile,
                           std::string_view planner, const FastBudget& fast) {
  SLUICE_ASSIGN(std::vector<Bytes> budgets, resolve_budgets(workload.graph(), machine, planner, fast.size));
  PlanRequest request{workload.graph(), profile, machine, std::move(budgets)};
  Result<Plan> plan = make_plan(planner, request);
  if (plan.ok() || !fast.raise_to_feasible || plan.error().code != ErrorCode::kInfeasible) return plan;
  const Bytes asked = request.budgets[kFastTier];
  SLUICE_ASSIGN(request.budgets[kFastTier], smallest_feasible_bytes(planner, request));
  SLUICE_ASSIGN(Plan raised, make_plan(planner, request));
  raised.planner_config.emplace_back(kRaisedFrom, std::to_string(asked));
  return raised;
}

std::optional<Bytes> raised_from(const Plan& plan) {
  const auto entry = std::ranges::find(plan.planner_config, kRaisedFrom, &std::pair<std::string, std::string>::first);
  if (entry == plan.planner_config.end()) return std::nullopt;
  return std::stoll(entry->second);
}

}  // namespace sluice
