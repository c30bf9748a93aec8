#include <algorithm>
#include <utility>

#include "sluice/graph/rewrite/fold_rules.hpp"

namespace sluice::graph {
namespace {

// The activation that the op is, when it is one of those that others can apply last.
Activation activation_of(const Op& op) {
  if (op.kind == OpKind::kRelu) return Activation::kRelu;
  constexpr UnaryAttributes kRelu6{.function = UnaryFunction::kClip, .alpha = 0, .beta = 6};
  return op.kind == OpKind::kUnary && op.as<UnaryAttributes>() == kRelu6 ? Activation::kRelu6 : Activation::kNone;
}

bool is_convolution(OpKind kind) { return kind == OpKind::kConv2d || kind == OpKind::kConvTranspose2d; }

bool takes_activation(const Op& op) {
  const bool can = is_convolution(op.kind) || op.kind == OpKind::kAdd || op.kind == OpKind::kBatchNorm;
  return can && fused_activation(op.attributes) == Activation::kNone;
}

// The activation that is applied last to a tensor and that `reader` can apply instead.
Activation activation_above(const GraphRewrite& graph, TensorId id, OpIndex reader) {
  const std::optional<OpIndex> maker = graph.maker(id);
  if (!maker || graph.only_reader(id) != reader || !graph.same_stage(*maker, reader)) return Activation::kNone;
  const Op& op = graph.op(*maker);
  return is_convolution(op.kind) ? fused_activation(op.attributes) : activation_of(op);
}

}  // namespace

bool sink_activations(GraphRewrite& graph, OpIndex index) {
  Op concat = graph.op(index);
  if (concat.kind != OpKind::kConcat || fused_activation(concat.attributes) != Activation::kNone) return false;
  const Activation activation = activation_above(graph, concat.inputs[0], index);
  if (activation == Activation::kNone) return false;
  for (const TensorId id : concat.inputs) {
    if (activation_above(graph, id, index) != activation) return false;
  }
  for (TensorId& id : concat.inputs) {
    const OpIndex above = *graph.maker(id);
    Op maker = graph.op(above);
    if (!is_convolution(maker.kind)) {
      id = maker.inputs[0];
      continue;
    }
    fuse_activation(maker.attributes, Activation::kNone);
    graph.replace(above, std::move(maker));
  }
  fuse_activation(concat.attributes, activation);
  graph.replace(index, std::move(concat));
  return true;
}

bool sink_below_max_pool(GraphRewrite& graph, OpIndex index) {
  Op pool = graph.op(index);
  if (pool.kind != OpKind::kMaxPool || fused_activation(pool.attributes) != Activation::kNone) return false;
  const std::optional<OpIndex> above = graph.maker(pool.inputs[0]);
  if (!above || graph.only_reader(pool.inputs[0]) != index || !graph.same_stage(*above, index)) return false;
  Op maker = graph.op(*above);
  const bool can = is_convolution(maker.kind) || maker.kind == OpKind::kConcat || maker.kind == OpKind::kAdd;
  if (!can || fused_activation(maker.attributes) != Activation::kRelu) return false;
  fuse_activation(maker.attributes, Activation::kNone);
  fuse_activation(pool.attributes, Activation::kRelu);
  graph.replace(*above, std::move(maker));
  graph.replace(index, std::move(pool));
  return true;
}

bool fold_activation(GraphRewrite& graph, OpIndex index) {
  const Activation activation = activation_of(graph.op(index));
  if (activation == Activation::kNone) return false;
  const std::optional<OpIndex> above = graph.maker(graph.op(index).inputs[0]);
  if (!above || !takes_activation(graph.op(*above)) || !graph.same_stage(*above, index)) return false;
  if (graph.only_reader(graph.op(index).inputs[0]) != index) return false;
  Op maker = graph.op(*above);
  fuse_activation(maker.attributes, activation);
  maker.outputs[0] = graph.op(index).outputs[0];
  graph.remove(index);
  graph.replace(*above, std::move(maker));
  return true;
}

// Of two batch norms that are added, the one that runs last takes the other's result.
bool fold_residual(GraphRewrite& graph, OpIndex index) {
  const Op add = graph.op(index);
  if (add.kind != OpKind::kAdd || add.inputs[0] == add.inputs[1]) return false;
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    const TensorId residual = add.inputs[1 - side];
    const std::optional<OpIndex> above = graph.maker(add.inputs[side]);
    if (!above || graph.only_reader(add.inputs[side]) != index || !graph.same_stage(*above, index)) continue;
    Op norm = graph.op(*above);
    if (norm.kind != OpKind::kBatchNorm || fused_activation(norm.attributes) != Activation::kNone) continue;
    if (norm.inputs.size() != 3 || norm.outputs[0] != add.inputs[side]) continue;
    if (graph.maker(residual).value_or(-1) >= *above) continue;
    norm.inputs.push_back(residual);
    fuse_activation(norm.attributes, fused_activation(add.attributes));
    norm.outputs[0] = add.outputs[0];
    graph.remove(index);
    graph.replace(*above, std::move(norm));
    return true;
  }
  return false;
}

}  // namespace sluice::graph
