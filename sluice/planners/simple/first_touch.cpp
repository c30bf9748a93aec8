// First-touch NUMA allocation: a tensor is placed where there is room when it is first written (persistent tensors
// before the step, in graph order) and never moves. Later tensors find the fast tier full and live in the nearest slow
// one with room.
#include "sluice/plan/rooms.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/schedule/in_place_use.hpp"
#include "sluice/planners/schedule/pack.hpp"
#include "sluice/planners/schedule/reservation_table.hpp"
#include "sluice/planners/schedule/slow_rooms.hpp"

namespace sluice::planners {
namespace {

// Persistent tensors first, then the others by first use.
std::vector<graph::TensorId> touch_order(const graph::Graph& graph, const graph::Liveness& liveness) {
  std::vector<graph::TensorId> order;
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
    if (!liveness.uses[id].empty()) order.push_back(id);
  }
  const auto first_touch = [&](graph::TensorId id) {
    return graph::is_persistent(graph.tensor(id).role) ? plan::kStepStart : liveness.uses[id].front().op;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](graph::TensorId a, graph::TensorId b) { return first_touch(a) < first_touch(b); });
  return order;
}

Result<plan::Plan> plan_first_touch(const PlanRequest& request) {
  SLUICE_ASSIGN(const std::vector<SlowTier> slow, find_addressable_slow_tiers("first-touch", request.machine));
  const graph::Liveness liveness = graph::analyze_liveness(request.graph);
  const std::vector<graph::TensorId> order = touch_order(request.graph, liveness);
  const auto build = [&](const std::vector<Bytes>& capacities) -> std::optional<plan::PlanBuilder> {
    plan::PlanBuilder builder(request.graph, request.machine);
    ReservationTable fast(request.graph.op_count(), capacities[memory::kFastTier]);
    SlowRooms rooms(slow, request.graph.op_count(), capacities);
    for (const graph::TensorId tensor : order) {
      const Interval<graph::OpIndex> range = liveness.ranges[tensor];
      const Bytes bytes = plan::room_for(request.graph.tensor(tensor), memory::kFastTier, false).bytes;
      const bool room = fast.fits(range, bytes);
      if (room) fast.reserve(range, bytes);
      use_in_tier(builder, liveness, tensor, room ? memory::kFastTier : rooms.place(std::span(&range, 1), bytes).id);
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

}  // namespace sluice::planners
