// On-demand paging with tensors for pages: an op that finds an operand missing fetches it and waits; when there is no
// room the tensors used longest ago are evicted first, written back when the slow copy is stale, and that is waited
// for too. Nothing is fetched ahead. Unlike an operating system it knows when a tensor is dead, and frees it.
//
// The rule is online, but a step's accesses are known, so its decisions are written down as a plan
// (schedule/paged_step.hpp says how a step ends as it began).
#include "sluice/planners/planner.hpp"
#include "sluice/planners/schedule/leaving_tiers.hpp"
#include "sluice/planners/schedule/pack.hpp"
#include "sluice/planners/schedule/paged_step.hpp"

namespace sluice::planners {
namespace {

Result<plan::Plan> plan_on_demand(const PlanRequest& request) {
  SLUICE_ASSIGN(const std::vector<SlowTier> slow, find_slow_tiers("on-demand", request.machine));
  const graph::Graph& graph = request.graph;
  const graph::Liveness liveness = graph::analyze_liveness(graph);
  std::vector<std::vector<graph::TensorId>> operands;
  for (const graph::Op& op : graph.ops()) operands.push_back(graph::distinct_operands(op));
  const PagedOps ops{graph, liveness, {operands.begin(), operands.end()}};
  const auto touched_last = [&](graph::TensorId id, graph::OpIndex touched) -> std::int64_t {
    return touched == plan::kStepStart ? liveness.uses[id].back().op - graph.op_count() : touched;
  };
  const PagingRule rule{.rank = touched_last, .leaves = plan::Cause::kLeastRecentlyUsed};
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

PlannerEntry on_demand_planner() {
  return {.name = "on-demand",
          .summary = "fetch when an op needs it, evict the least recently used: what paging does",
          .plan = plan_on_demand,
          .traits = {.moves = true, .all_tensors = true, .any_graph = true, .several_tiers = true}};
}

}  // namespace sluice::planners
