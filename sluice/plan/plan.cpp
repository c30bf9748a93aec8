#include "sluice/plan/plan.hpp"

namespace sluice {

std::vector<std::vector<ResidencyIndex>> start_residencies(const Graph& graph, const Plan& plan) {
  std::vector<bool> filled_at_start(plan.residencies.size(), false);
  for (const Migration& migration : plan.migrations) {
    if (migration.issue_after == kStepStart) filled_at_start.at(static_cast<std::size_t>(migration.to)) = true;
  }
  std::vector<std::vector<ResidencyIndex>> starts(graph.tensors().size());
  for (std::size_t i = 0; i < plan.residencies.size(); ++i) {
    const Residency& residency = plan.residencies[i];
    if (!is_persistent(graph.tensor(residency.tensor).role)) continue;
    if (!residency.ops.contains(0) || filled_at_start[i]) continue;
    starts[static_cast<std::size_t>(residency.tensor)].push_back(static_cast<ResidencyIndex>(i));
  }
  return starts;
}

}  // namespace sluice
