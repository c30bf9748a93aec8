#include <fmt/format.h>

#include "sluice/planners/feature_maps/swap_schedules.hpp"
#include "sluice/planners/rescheduled_request.hpp"
#include "sluice/planners/schedule/pack.hpp"
#include "sluice/planners/schedule/rematerialization.hpp"

namespace sluice::planners {
namespace {

std::vector<SwappedTensor> swapped_tensors(const FeatureMapPlan& wanted) {
  std::vector<SwappedTensor> tensors;
  for (std::size_t i = 0; i < wanted.maps.size(); ++i) {
    if (wanted.actions[i] != FeatureMapAction::kSwap) continue;
    tensors.push_back({wanted.maps[i].tensor, wanted.ahead.empty() ? 0 : wanted.ahead[i]});
  }
  return tensors;
}

Result<std::vector<graph::OpIndex>> schedule_with_actions(const graph::Graph& graph, const FeatureMapPlan& wanted) {
  // What the backward pass does not read is forgotten as well: it would have to wait there for what is made again of it.
  IdVector<graph::TensorId, bool> forgotten(graph.tensors().size(), true);
  for (std::size_t i = 0; i < wanted.maps.size(); ++i) {
    forgotten[wanted.maps[i].tensor] = wanted.actions[i] == FeatureMapAction::kRecompute;
  }
  const Rematerialization rematerialization{.forgets = [&](const OpValue& value) { return forgotten[value.tensor]; }};
  return schedule_rematerialization(graph, rematerialization, wanted.planner);
}

plan::PlanBuilder build(const PlanRequest& step, const graph::Liveness& liveness, memory::TierId slow,
                        const std::vector<SwappedTensor>& swapped, const std::vector<TensorSchedule>& schedules) {
  plan::PlanBuilder builder(step.graph, step.machine);
  IdVector<graph::TensorId, bool> added(step.graph.tensors().size(), false);
  for (std::size_t i = 0; i < swapped.size(); ++i) {
    add_tensor_schedule(builder, step.graph, liveness, swapped[i].id, slow, schedules[i]);
    added[swapped[i].id] = true;
  }
  for (graph::TensorId id = 0; id < step.graph.tensor_count(); ++id) {
    if (added[id]) continue;
    add_tensor_schedule(builder, step.graph, liveness, id, memory::kFastTier,
                        always_fast(liveness, id, graph::is_persistent(step.graph.tensor(id).role)));
  }
  return builder;
}

Result<plan::Plan> packed_plan(const PlanRequest& step, const FeatureMapPlan& wanted) {
  const graph::Liveness liveness = graph::analyze_liveness(step.graph);
  const std::vector<SwappedTensor> swapped = swapped_tensors(wanted);
  if (swapped.empty()) return build(step, liveness, memory::kFastTier, {}, {}).finish(step.budgets);
  SLUICE_ASSIGN(const std::vector<SlowTier> slow, find_slow_tiers(wanted.planner, step.machine));
  const SwapSchedules swaps(step, liveness, slow.front(), swapped, wanted.pace);
  const auto within = [&](const std::vector<Bytes>& capacities) -> std::optional<plan::PlanBuilder> {
    const auto schedules = swaps.within(capacities[memory::kFastTier]);
    if (!schedules) return std::nullopt;
    return build(step, liveness, slow.front().id, swapped, *schedules);
  };
  SLUICE_ASSIGN(PackedPlan packed, pack_with_less_capacity(step, step.budgets, within));
  return pack_with_more_capacity(step, std::move(packed), within).plan;
}

}  // namespace

Result<plan::Plan> plan_actions(const PlanRequest& request, const FeatureMapPlan& wanted) {
  SLUICE_ASSIGN(std::vector<graph::OpIndex> schedule, schedule_with_actions(request.graph, wanted));
  const RescheduledRequest step(request, std::move(schedule));
  Result<plan::Plan> plan = packed_plan(step.request(), wanted);
  if (plan.ok()) return step.for_given_graph(std::move(plan).value());
  if (!wants_more_room(plan.error().code)) return plan;
  return Error{plan.error().code,
               fmt::format("{}: what it keeps of {} does not fit into {} of fast memory. Raise --fast, or name another "
                           "planner",
                           wanted.planner, request.graph.name, format_bytes(request.budgets[memory::kFastTier]))};
}

}  // namespace sluice::planners
