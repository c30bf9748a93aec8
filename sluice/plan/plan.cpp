#include "sluice/plan/plan.hpp"

namespace sluice {

std::vector<bool> migrating_residencies(const Plan& plan) {
  std::vector<bool> migrating(plan.residencies.size(), false);
  for (const Migration& migration : plan.migrations) {
    for (const ResidencyIndex side : {migration.from, migration.to}) {
      if (side >= 0 && static_cast<std::size_t>(side) < migrating.size())
        migrating[static_cast<std::size_t>(side)] = true;
    }
  }
  return migrating;
}

std::vector<Room> residency_rooms(const Graph& graph, const Plan& plan) {
  const std::vector<bool> migrating = migrating_residencies(plan);
  std::vector<Room> rooms;
  rooms.reserve(plan.residencies.size());
  for (const Residency& residency : plan.residencies) {
    rooms.push_back(room_for(graph.tensor(residency.tensor), residency.tier, migrating[rooms.size()]));
  }
  return rooms;
}

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
