#include "sluice/graph/liveness.hpp"

#include <algorithm>
#include <numeric>

#include "sluice/base/as_index.hpp"

namespace sluice::graph {
namespace {

bool names(const std::vector<TensorId>& operands, TensorId id) {
  return std::find(operands.begin(), operands.end(), id) != operands.end();
}

std::vector<std::vector<Use>> collect_uses(const Graph& graph) {
  std::vector<std::vector<Use>> uses(graph.tensors().size());
  for (OpIndex index = 0; index < graph.op_count(); ++index) {
    const Op& op = graph.op(index);
    for (const TensorId id : distinct_operands(op)) {
      uses[as_index(id)].push_back({index, names(op.inputs, id), names(op.outputs, id)});
    }
  }
  return uses;
}

Interval<OpIndex> live_range(const Tensor& tensor, const std::vector<Use>& uses, OpIndex op_count) {
  if (is_persistent(tensor.role)) return {0, op_count};
  if (uses.empty()) return {};
  return {uses.front().op, tensor.role == Role::kOutput ? op_count : uses.back().op + 1};
}

void collect_spans(const Graph& graph, Liveness& liveness) {
  for (OpIndex index = 0; index < graph.op_count(); ++index) {
    const Op& op = graph.op(index);
    const bool backward = op.phase != Phase::kForward;
    std::vector<LayerSpan>& spans = liveness.spans;
    if (spans.empty() || spans.back().layer != op.layer || spans.back().backward != backward) {
      spans.push_back({op.layer, backward, {index, index}});
    }
    spans.back().ops.end = index + 1;
    liveness.span_of_op.push_back(count_of(spans) - 1);
  }
}

bool within_one_span(const Liveness& liveness, Interval<OpIndex> range) {
  if (range.empty()) return true;
  const auto& span_of_op = liveness.span_of_op;
  return span_of_op[as_index(range.begin)] == span_of_op[as_index(range.end - 1)];
}

}  // namespace

Liveness analyze_liveness(const Graph& graph) {
  Liveness liveness;
  liveness.uses = collect_uses(graph);
  collect_spans(graph, liveness);
  for (std::size_t i = 0; i < graph.tensors().size(); ++i) {
    const Tensor& tensor = graph.tensors()[i];
    const Interval<OpIndex> range = live_range(tensor, liveness.uses[i], graph.op_count());
    liveness.ranges.push_back(range);
    liveness.short_lived.push_back(!is_persistent(tensor.role) && within_one_span(liveness, range));
  }
  return liveness;
}

std::vector<Bytes> live_bytes(const Liveness& liveness, std::span<const Bytes> bytes) {
  std::vector<Bytes> live(liveness.span_of_op.size() + 1, 0);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const Interval<OpIndex> range = liveness.ranges[i];
    if (range.empty()) continue;
    live[as_index(range.begin)] += bytes[i];
    live[as_index(range.end)] -= bytes[i];
  }
  std::partial_sum(live.begin(), live.end(), live.begin());
  live.pop_back();
  return live;
}

std::vector<TensorId> distinct_operands(const Op& op) {
  std::vector<TensorId> ids;
  for (const auto* operands : {&op.inputs, &op.outputs}) {
    for (const TensorId id : *operands) {
      if (!names(ids, id)) ids.push_back(id);
    }
  }
  return ids;
}

}  // namespace sluice::graph
