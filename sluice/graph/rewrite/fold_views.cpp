#include <algorithm>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/rewrite/fold_rules.hpp"

namespace sluice::graph {
namespace {

// The op of the same kind that makes what `index` reads.
std::optional<OpIndex> same_kind_above(const GraphRewrite& graph, OpIndex index) {
  const std::optional<OpIndex> above = graph.maker(graph.op(index).inputs[0]);
  if (!above || graph.op(*above).kind != graph.op(index).kind || !graph.same_stage(*above, index)) return std::nullopt;
  return above;
}

// Dimensions that have more than one element, in the order of `axes`.
bool moves_bytes(const Shape& shape, const std::vector<std::int64_t>& axes) {
  std::int64_t last = -1;
  for (const std::int64_t axis : axes) {
    if (shape[as_index(axis)] == 1) continue;
    if (axis < last) return true;
    last = axis;
  }
  return false;
}

}  // namespace

bool fold_transposes(GraphRewrite& graph, OpIndex index) {
  if (graph.op(index).kind != OpKind::kTranspose) return false;
  const std::optional<OpIndex> above = same_kind_above(graph, index);
  if (!above) return false;
  Op op = graph.op(index);
  const Op& first = graph.op(*above);
  const std::vector<std::int64_t>& order = first.as<TransposeAttributes>().axes;
  for (std::int64_t& axis : op.as<TransposeAttributes>().axes) axis = order[as_index(axis)];
  op.inputs = first.inputs;
  graph.replace(index, std::move(op));
  return true;
}

bool fold_still_transpose(GraphRewrite& graph, OpIndex index) {
  Op op = graph.op(index);
  if (op.kind != OpKind::kTranspose) return false;
  if (moves_bytes(graph.tensor(op.inputs[0]).shape, op.as<TransposeAttributes>().axes)) return false;
  op.kind = OpKind::kReshape;
  op.attributes = ShapeAttributes{graph.tensor(op.outputs[0]).shape};
  graph.replace(index, std::move(op));
  return true;
}

bool fold_reshape(GraphRewrite& graph, OpIndex index) {
  Op op = graph.op(index);
  if (op.kind != OpKind::kReshape) return false;
  const Tensor& x = graph.tensor(op.inputs[0]);
  const Tensor& y = graph.tensor(op.outputs[0]);
  const bool renames_only = x.shape == y.shape && y.role == Role::kActivation && !is_persistent(x.role);
  if (renames_only) {
    graph.read_instead(op.outputs[0], op.inputs[0]);
    graph.remove(index);
    return true;
  }
  const std::optional<OpIndex> above = same_kind_above(graph, index);
  if (!above) return false;
  op.inputs = graph.op(*above).inputs;
  graph.replace(index, std::move(op));
  return true;
}

}  // namespace sluice::graph
