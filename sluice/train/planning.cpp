#include "sluice/train/planning.hpp"

#include <fmt/format.h>

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
                           std::string_view planner, const std::optional<MemorySize>& fast) {
  SLUICE_ASSIGN(const std::vector<Bytes> budgets, resolve_budgets(workload.graph(), machine, planner, fast));
  return make_plan(planner, {workload.graph(), profile, machine, budgets});
}

}  // namespace sluice
