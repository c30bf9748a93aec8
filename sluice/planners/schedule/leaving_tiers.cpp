#include "sluice/planners/schedule/leaving_tiers.hpp"

#include <map>

#include "sluice/plan/rooms.hpp"

namespace sluice::planners {

IdVector<graph::TensorId, memory::TierId> tiers_left_for(const graph::Graph& graph, const graph::Liveness& liveness,
                                                         const IdVector<graph::TensorId, TensorSchedule>& schedules,
                                                         SlowRooms rooms) {
  IdVector<graph::TensorId, memory::TierId> tiers(graph.tensors().size(), memory::kFastTier);
  std::map<graph::OpIndex, std::vector<std::pair<graph::TensorId, SlowDemand>>>
      leaving;  // by when a copy first needs its room
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
    if (liveness.uses[id].empty()) continue;
    const bool persistent = graph::is_persistent(graph.tensor(id).role);
    SlowDemand demand = slow_demand(liveness.uses[id], schedules[id], persistent, graph.op_count());
    if (!demand.ranges.empty()) leaving[demand.ranges.front().begin].emplace_back(id, std::move(demand));
  }
  for (const auto& [op, tensors] : leaving) {
    for (const auto& [id, demand] : tensors)
      tiers[id] = rooms.place(demand.ranges, plan::stored_bytes(graph.tensor(id))).id;
  }
  return tiers;
}

void add_tensor_schedules(plan::PlanBuilder& builder, const graph::Graph& graph, const graph::Liveness& liveness,
                          const IdVector<graph::TensorId, TensorSchedule>& schedules, const SlowRooms& rooms) {
  const IdVector<graph::TensorId, memory::TierId> tiers = tiers_left_for(graph, liveness, schedules, rooms);
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
    add_tensor_schedule(builder, graph, liveness, id, tiers[id], schedules[id]);
  }
}

}  // namespace sluice::planners
