// First-touch NUMA allocation: a tensor is placed where there is room when it is first written (persistent tensors
// before the step, in graph order) and never moves. Later tensors find the fast tier full and live in the nearest slow
// one with room.
#include "sluice/plan/rooms.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/schedule/in_place_use.hpp"
#include "sluice/planners/schedule/pack.hpp"
#include "sluice/planners/schedule/reservation_table.hpp"
#include "sluice/planners/schedule/slow_rooms.hpp"

namespace sluice {
namespace {

// Persistent tensors first, then the others by first use.
std::vector<TensorId> touch_order(const Graph& graph, const Liveness& liveness) {
  std::vector<TensorId> order;
  for (TensorId id = 0; id < graph.tensor_count(); ++id) {
    if (!liveness.uses[id].empty()) order.push_back(id);
  }
  const auto first_touch = [&](TensorId id) {
    return is_persistent(graph.tensor(id).role) ? kStepStart : liveness.uses[id].front().op;
  };
  std::stable_sort(order.begin(), order.end(), [&](TensorId a, TensorId b) { return first_touch(a) < first_touch(b); });
  return order;
}

Result<Plan> plan_first_touch(const PlanRequest& request) {
  SLUICE_ASSIGN(const std::vector<SlowTier> slow, find_addressable_slow_tiers("first-touch", request.machine));
  const Liveness liveness = analyze_liveness(request.graph);
  const std::vector<TensorId> order = touch_order(request.graph, liveness);
  const auto build = [&](const std::vector<Bytes>& capacities) -> std::optional<PlanBuilder> {
    PlanBuilder builder(request.graph, request.machine);
    ReservationTable fast(request.graph.op_count(), capacities[kFastTier]);
    SlowRooms rooms(slow, request.graph.op_count(), capacities);
    for (const TensorId tensor : order) {
      const Interval<OpIndex> range = liveness.ranges[tensor];
      const Bytes bytes = room_for(request.graph.tensor(tensor), kFastTier, false).bytes;
      const bool room = fast.fits(range, bytes);
      if (room) fast.reserve(range, bytes);
      use_in_tier(builder, liveness, tensor, room ? kFastTier : rooms.place(std::span(&range, 1), bytes).id);
    }
    return builder;
  };
  SLUICE_ASSIGN(PackedPlan packed, pack_with_less_capacity(request, request.budgets, build));
  return pack_with_more_capacity(request, std::move(packed), build).plan;
}

}  // namespace

PlannerEntry first_touch_planner() {
  return {.name = "first-touch",
          .summary = "first come, first served: later tensors live in an addressable slow tier",
          .plan = plan_first_touch,
          .traits = {.all_tensors = true, .any_graph = true}};
}

}  // namespace sluice
