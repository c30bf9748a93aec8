#include "sluice/planners/lower_bound.hpp"

#include <algorithm>

#include "sluice/graph/liveness.hpp"
#include "sluice/plan/plan_builder.hpp"
#include "sluice/profile/cost_model.hpp"

namespace sluice {
namespace {

// Bytes of non-persistent tensors made before op k and used at or after it, by k.
std::vector<Bytes> bytes_across(const Graph& graph, const Liveness& liveness) {
  std::vector<Bytes> change(static_cast<std::size_t>(graph.op_count()) + 2, 0);
  for (TensorId id = 0; id < graph.tensor_count(); ++id) {
    const Interval<OpIndex> range = liveness.ranges[static_cast<std::size_t>(id)];
    if (is_persistent(graph.tensor(id).role) || range.length() < 2) continue;
    change[static_cast<std::size_t>(range.begin) + 1] += stored_bytes(graph.tensor(id));
    change[static_cast<std::size_t>(range.end)] -= stored_bytes(graph.tensor(id));
  }
  for (std::size_t k = 1; k < change.size(); ++k) change[k] += change[k - 1];
  return change;
}

}  // namespace

Seconds step_lower_bound(const PlanRequest& request) {
  const Graph& graph = request.graph;
  const CostModel costs(graph, request.profile, request.machine);
  Seconds compute = 0;
  for (OpIndex op = 0; op < graph.op_count(); ++op) compute += costs.op_seconds(op);
  if (request.machine.tiers.size() != 2 || request.machine.tier(1).addressable) return compute;
  const auto out = request.machine.link_between(kFastTier, 1);
  const auto in = request.machine.link_between(1, kFastTier);
  if (!out || !in) return compute;

  const std::vector<Bytes> across = bytes_across(graph, analyze_liveness(graph));
  Seconds bound = compute;
  Seconds before = 0;
  for (OpIndex op = 0; op < graph.op_count(); ++op) {
    const double moved = std::max(0.0, static_cast<double>(across[static_cast<std::size_t>(op)] - request.budgets[0]));
    bound = std::max(bound, std::max(before, moved / request.machine.link(*out).bandwidth) +
                                std::max(compute - before, moved / request.machine.link(*in).bandwidth));
    before += costs.op_seconds(op);
  }
  return bound;
}

}  // namespace sluice
