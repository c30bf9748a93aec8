// Belady's rule over tensors: where an op needs room, what is needed last leaves. Nothing is fetched ahead, so ops wait.
#include <algorithm>

#include "sluice/planners/planner.hpp"
#include "sluice/planners/schedule/leaving_tiers.hpp"
#include "sluice/planners/schedule/pack.hpp"
#include "sluice/planners/schedule/paged_step.hpp"

namespace sluice::planners {
namespace {

// The op that uses the tensor next, after `touched`. Behind its last use comes the first one of the next step.
graph::OpIndex next_use(const graph::Graph& graph, const std::vector<graph::Use>& uses, graph::OpIndex touched) {
  const auto next = std::ranges::upper_bound(uses, touched, {}, &graph::Use::op);
  return next != uses.end() ? next->op : graph.op_count() + uses.front().op;
}

Result<plan::Plan> plan_belady(const PlanRequest& request) {
  SLUICE_ASSIGN(const std::vector<SlowTier> slow, find_slow_tiers("belady", request.machine));
  const graph::Graph& graph = request.graph;
  const graph::Liveness liveness = graph::analyze_liveness(graph);
  std::vector<std::vector<graph::TensorId>> operands;
  for (const graph::Op& op : graph.ops()) operands.push_back(graph::distinct_operands(op));
  const PagedOps ops{graph, liveness, {operands.begin(), operands.end()}};
  const auto last_first = [&](graph::TensorId id, graph::OpIndex touched) -> std::int64_t {  // the least leaves first
    return -next_use(graph, liveness.uses[id], touched);
  };
  const PagingRule rule{.rank = last_first, .leaves = plan::Cause::kNeededLast};
  const auto build = [&](const std::vector<Bytes>& capacities) -> std::optional<plan::PlanBuilder> {
    const auto schedules = schedule_paged(ops, capacities[memory::kFastTier], rule);
    if (!schedules) return std::nullopt;
    plan::PlanBuilder builder(graph, request.machine);
    add_tensor_schedules(builder, graph, liveness, *schedules, SlowRooms(slow, graph.op_count(), capacities));
    return builder;
  };
  SLUICE_ASSIGN(PackedPlan packed, pack_with_less_capacity(request, request.budgets, build));
  return pack_with_more_capacity(request, std::move(packed), build).plan;
}

}  // namespace

PlannerEntry belady_planner() {
  return {.name = "belady",
          .summary = "fetch when an op needs it, evict what is needed last: Belady's rule over tensors",
          .plan = plan_belady,
          .traits = {.moves = true, .whole_step = true, .all_tensors = true, .any_graph = true, .several_tiers = true}};
}

}  // namespace sluice::planners
