// Everything in the slow tier, where ops use it in place: the other end of the scale from fast-only.
#include "sluice/graph/liveness.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/schedule/in_place_use.hpp"
#include "sluice/planners/schedule/slow_rooms.hpp"

namespace sluice::planners {

namespace {

Result<plan::Plan> plan_slow_only(const PlanRequest& request) {
  SLUICE_ASSIGN(const std::vector<SlowTier> slow, find_addressable_slow_tiers("slow-only", request.machine));
  const graph::Liveness liveness = graph::analyze_liveness(request.graph);
  plan::PlanBuilder builder(request.graph, request.machine);
  SlowRooms rooms(slow, request.graph.op_count(), request.budgets);
  for (graph::TensorId tensor = 0; tensor < request.graph.tensor_count(); ++tensor) {
    const Interval<graph::OpIndex> range = liveness.ranges[tensor];
    const Bytes bytes = plan::stored_bytes(request.graph.tensor(tensor));
    use_in_tier(builder, liveness, tensor, rooms.place(std::span(&range, 1), bytes).id);
  }
  return builder.finish(request.budgets);
}

}  // namespace

PlannerEntry slow_only_planner() {
  return {.name = "slow-only",
          .summary = "everything in an addressable slow tier, used in place",
          .plan = plan_slow_only,
          .traits = {.decides = "nothing", .all_tensors = true, .any_graph = true}};
}

}  // namespace sluice::planners
