// From a workload and a machine to plans: profile once, then ask any planner.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "sluice/planners/planner.hpp"
#include "sluice/train/workload.hpp"

namespace sluice {

inline constexpr std::string_view kBaselinePlanner = "fast-only";

// Budgets by tier. The fast tier gets `fast` (a percentage is of fast_only_bytes()), or all that the step takes when it
// is not given; the baseline planner always gets all. Slow tiers get their capacity. kInfeasible when the fast tier
// is not that large.
Result<std::vector<Bytes>> resolve_budgets(const Graph& graph, const Machine& machine, std::string_view planner,
                                           const std::optional<MemorySize>& fast);

// A verified plan with its prediction.
Result<Plan> plan_workload(const Workload& workload, const Machine& machine, const Profile& profile,
                           std::string_view planner, const std::optional<MemorySize>& fast);

}  // namespace sluice
