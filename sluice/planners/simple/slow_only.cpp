// Everything in the slow tier, where ops use it in place: the other end of the scale from fast-only.
#include "sluice/graph/liveness.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/schedule/in_place_use.hpp"
#include "sluice/planners/schedule/slow_rooms.hpp"

namespace sluice {

namespace {

Result<Plan> plan_slow_only(const PlanRequest& request) {
  SLUICE_ASSIGN(const std::vector<SlowTier> slow, find_addressable_slow_tiers("slow-only", request.machine));
  const Liveness liveness = analyze_liveness(request.graph);
  PlanBuilder builder(request.graph, request.machine);
  SlowRooms rooms(slow, request.graph.op_count(), request.budgets);
  for (TensorId tensor = 0; tensor < request.graph.tensor_count(); ++tensor) {
    const Interval<OpIndex> range = liveness.ranges[tensor];
    const Bytes bytes = stored_bytes(request.graph.tensor(tensor));
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

}  // namespace sluice
