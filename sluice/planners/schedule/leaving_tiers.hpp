// Which slow tier each tensor leaves for, in the order in which they leave: the nearest one that has room then, over
// all the time that its copy is needed there (slow_rooms.hpp). A tensor that is left where it was when the step began
// comes first.
#pragma once

#include "sluice/planners/schedule/slow_rooms.hpp"
#include "sluice/planners/schedule/tensor_schedule.hpp"

namespace sluice::planners {

// By tensor; the fast tier's for those that have no copy elsewhere. Cost: tensors x slow tiers x ops at worst, and
// linear where there is one slow tier.
IdVector<graph::TensorId, memory::TierId> tiers_left_for(const graph::Graph& graph, const graph::Liveness& liveness,
                                                         const IdVector<graph::TensorId, TensorSchedule>& schedules,
                                                         SlowRooms rooms);

// Adds all tensors' schedules, each with the tier that it leaves for.
void add_tensor_schedules(plan::PlanBuilder& builder, const graph::Graph& graph, const graph::Liveness& liveness,
                          const IdVector<graph::TensorId, TensorSchedule>& schedules, const SlowRooms& rooms);

}  // namespace sluice::planners
