#include "sluice/policies/step_accesses.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"

namespace sluice::policies {
namespace {

bool contains(const std::vector<graph::TensorId>& tensors, graph::TensorId id) {
  return std::find(tensors.begin(), tensors.end(), id) != tensors.end();
}

}  // namespace

StepAccesses step_accesses(const graph::Graph& graph, const graph::Liveness& liveness, const layout::PageLayout& layout,
                           const profile::OpTraffic& traffic) {
  StepAccesses step;
  const auto range = [&](graph::TensorId id) {
    const Bytes begin = layout.offsets[as_index(id)];
    return Interval<Bytes>{begin, begin + graph.tensor(id).bytes};
  };
  const auto placed = [&](graph::TensorId id) { return layout.offsets[as_index(id)] != layout::kUnplaced; };
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
    if (placed(id) && is_persistent(graph.tensor(id).role)) step.initial.push_back({range(id), false, true});
  }
  for (graph::OpIndex index = 0; index < graph.op_count(); ++index) {
    const graph::Op& op = graph.op(index);
    std::vector<Access>& accesses = step.ops.emplace_back();
    const std::vector<graph::TensorId> operands = graph::distinct_operands(op);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const graph::TensorId id = operands[i];
      if (!placed(id)) continue;
      accesses.push_back({range(id), contains(op.inputs, id), contains(op.outputs, id), traffic.of(index)[i]});
    }
  }
  step.upcoming.resize(step.ops.size());
  for (std::size_t span = 0; span < liveness.spans.size(); ++span) {
    const Interval<graph::OpIndex> next = liveness.spans[(span + 1) % liveness.spans.size()].ops;
    auto& upcoming = step.upcoming[as_index(liveness.spans[span].ops.begin)];
    for (graph::OpIndex op = next.begin; op < next.end; ++op) {
      const std::vector<Access>& of_op = step.ops[as_index(op)];
      upcoming.insert(upcoming.end(), of_op.begin(), of_op.end());
    }
  }
  return step;
}

AccessCharge charge_op(Policy& policy, const StepAccesses& step, graph::OpIndex op, Seconds now,
                       memory::MoveList& moves) {
  const auto index = as_index(op);
  if (!step.upcoming[index].empty()) policy.expect(step.upcoming[index], now);
  return policy.access(step.ops[index], now, moves);
}

}  // namespace sluice::policies
