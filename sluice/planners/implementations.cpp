#include "sluice/planners/implementations.hpp"

#include "sluice/base/as_index.hpp"
#include "sluice/graph/liveness.hpp"

namespace sluice::planners {
Implementations::Implementations(const PlanRequest& request) : request_(request), graph_(request.graph) {
  for (const graph::Op& op : graph_.ops()) operand_bytes_.push_back(bytes_beside_workspace(op));
}

std::vector<graph::OpChoice> Implementations::first_ones(const graph::Graph& graph) {
  std::vector<graph::OpChoice> choices;
  for (const graph::Op& op : graph.ops()) choices.push_back({0, op.processor});
  return choices;
}

std::vector<graph::OpChoice> Implementations::fastest_within(Bytes room) const {
  std::vector<graph::OpChoice> choices;
  for (graph::OpIndex op = 0; op < graph_.op_count(); ++op)
    choices.push_back({pick(op, room), graph_.op(op).processor});
  return choices;
}

std::vector<graph::OpChoice> Implementations::cheapest_at(std::span<const double> seconds_per_byte) const {
  std::vector<graph::OpChoice> choices;
  for (graph::OpIndex op = 0; op < graph_.op_count(); ++op) {
    choices.push_back({pick_at(op, seconds_per_byte[as_index(op)]), graph_.op(op).processor});
  }
  return choices;
}

Bytes Implementations::bytes_beside_workspace(const graph::Op& op) const {
  Bytes sum = 0;
  for (const graph::TensorId id : graph::distinct_operands(op)) {
    if (op.implementations.size() < 2 || id != op.outputs.back()) sum += graph_.tensor(id).bytes;
  }
  return sum;
}

Seconds Implementations::seconds(graph::OpIndex op, std::int32_t implementation) const {
  if (implementation == 0) return request_.profile.op_seconds[op];
  const auto found = request_.profile.choices.find({implementation, kMainProcessor});
  return found == request_.profile.choices.end() ? request_.profile.op_seconds[op] : found->second->warm[op];
}

// The first one of those that are equal, so that ops keep what they have unless another gains something.
std::int32_t Implementations::pick(graph::OpIndex op, Bytes room) const {
  const std::vector<graph::Implementation>& known = graph_.op(op).implementations;
  std::int32_t best = 0;
  for (std::int32_t i = 1; i < static_cast<std::int32_t>(known.size()); ++i) {
    const bool best_fits = operand_bytes_[op] + known[as_index(best)].workspace_bytes <= room;
    const bool fits = operand_bytes_[op] + known[as_index(i)].workspace_bytes <= room;
    const bool smaller = known[as_index(i)].workspace_bytes < known[as_index(best)].workspace_bytes;
    const bool faster = seconds(op, i) < kClearlyFasterKernel * seconds(op, best);
    if (fits && best_fits ? faster : !best_fits && smaller) best = i;
  }
  return best;
}

std::int32_t Implementations::pick_at(graph::OpIndex op, double seconds_per_byte) const {
  const std::vector<graph::Implementation>& known = graph_.op(op).implementations;
  const Bytes room = request_.budgets[memory::kFastTier] - operand_bytes_[op];
  const auto cost = [&](std::int32_t i) {
    return seconds(op, i) + seconds_per_byte * static_cast<double>(known[as_index(i)].workspace_bytes);
  };
  std::int32_t best = pick(op, request_.budgets[memory::kFastTier]);
  const Seconds noise = (1 - kClearlyFasterKernel) * seconds(op, best);
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(known.size()); ++i) {
    if (known[as_index(i)].workspace_bytes <= room && cost(i) + noise < cost(best)) best = i;
  }
  return best;
}

}  // namespace sluice::planners
