#include "sluice/planners/schedule/leaving_tiers.hpp"

#include <map>

#include "sluice/plan/rooms.hpp"

namespace sluice {

IdVector<TensorId, TierId> tiers_left_for(const Graph& graph, const Liveness& liveness,
                                          const IdVector<TensorId, TensorSchedule>& schedules, SlowRooms rooms) {
  IdVector<TensorId, TierId> tiers(graph.tensors().size(), kFastTier);
  std::map<OpIndex, std::vector<std::pair<TensorId, SlowDemand>>> leaving;  // by when a copy first needs its room
  for (TensorId id = 0; id < graph.tensor_count(); ++id) {
    if (liveness.uses[id].empty()) continue;
    const bool persistent = is_persistent(graph.tensor(id).role);
    SlowDemand demand = slow_demand(liveness.uses[id], schedules[id], persistent, graph.op_count());
    if (!demand.ranges.empty()) leaving[demand.ranges.front().begin].emplace_back(id, std::move(demand));
  }
  for (const auto& [op, tensors] : leaving) {
    for (const auto& [id, demand] : tensors) tiers[id] = rooms.place(demand.ranges, stored_bytes(graph.tensor(id))).id;
  }
  return tiers;
}

void add_tensor_schedules(PlanBuilder& builder, const Graph& graph, const Liveness& liveness,
                          const IdVector<TensorId, TensorSchedule>& schedules, const SlowRooms& rooms) {
  const IdVector<TensorId, TierId> tiers = tiers_left_for(graph, liveness, schedules, rooms);
  for (TensorId id = 0; id < graph.tensor_count(); ++id) {
    add_tensor_schedule(builder, graph, liveness, id, tiers[id], schedules[id]);
  }
}

}  // namespace sluice
