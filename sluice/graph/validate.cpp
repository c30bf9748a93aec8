#include "sluice/graph/validate.hpp"

#include <fmt/format.h>

#include "sluice/graph/shape_rules.hpp"

namespace sluice {
namespace {

using Shapes = std::vector<Shape>;

// Operand shapes, to be matched against what the forward op of the same name would make of them.
struct Claim {
  OpKind forward;
  Shapes inputs;
  Shapes outputs;
};

std::string text(const Shapes& shapes) {
  std::string all;
  for (const Shape& shape : shapes) all += (all.empty() ? "" : ", ") + to_string(shape);
  return all;
}

Error error(const Op& op, const std::string& detail) {
  return {ErrorCode::kBadInput, fmt::format("op '{}' ({}): {}", op.name, to_string(op.kind), detail)};
}

Shapes shapes_of(const Graph& graph, const std::vector<TensorId>& operands) {
  Shapes shapes;
  for (const TensorId id : operands) {
    if (graph.tensor(id).role != Role::kWorkspace) shapes.push_back(graph.tensor(id).shape);
  }
  return shapes;
}

Shapes concatenate(Shapes first, const Shapes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// Copies between a batch and some of its samples.
Status check_batch_copy(const Op& op, const Shapes& inputs, const Shapes& outputs) {
  const bool taking = op.kind == OpKind::kSliceBatch;
  const Attributes& slice = op.attributes;
  const std::size_t operands = slice.partial ? 2 : 1;
  if (inputs.size() != operands || outputs.size() != 1 || inputs[0].empty() || outputs[0].empty()) {
    return error(op, fmt::format("got inputs {} and outputs {}", text(inputs), text(outputs)));
  }
  Shape whole = taking ? inputs[0] : outputs[0];
  const Shape& part = taking ? outputs[0] : inputs[0];
  if (slice.out_begin < 0 || slice.out_begin >= slice.out_end || slice.out_end > whole[0]) {
    return error(op, fmt::format("samples {}:{} are not a slice of {}", slice.out_begin, slice.out_end, text({whole})));
  }
  whole[0] = slice.out_end - slice.out_begin;
  if (whole != part) return error(op, fmt::format("the slice should be {}, not {}", text({whole}), text({part})));
  if (slice.partial && (taking || op.inputs[1] != op.outputs[0])) {
    return error(op, "a partial copy must name its output as its last input");
  }
  return {};
}

// A sliced dense op as a whole one: its part of the output features only, without the partial operand.
Status narrow_to_slice(const Op& op, Shapes& inputs, Shapes& outputs) {
  if (op.attributes.out_end == 0) return {};
  const Attributes& slice = op.attributes;
  const std::size_t y = op.kind == OpKind::kDenseBackwardWeights ? 1 : 0;
  Shapes& side = op.kind == OpKind::kDense ? outputs : inputs;
  if (side.size() <= y || side[y].size() != 2 || slice.out_begin < 0 || slice.out_begin >= slice.out_end ||
      slice.out_end > side[y][1]) {
    return error(op, fmt::format("features {}:{} are not a slice of {}", slice.out_begin, slice.out_end, text(side)));
  }
  side[y][1] = slice.out_end - slice.out_begin;
  if (slice.partial) {
    const bool in_place = !op.outputs.empty() && !op.inputs.empty() && op.inputs.back() == op.outputs[0];
    if (!in_place) return error(op, "a partial slice must name its output as its last input");
    inputs.pop_back();
  }
  return {};
}

// How many inputs forward_claim looks at; the forward rules count their own.
std::size_t least_inputs(OpKind kind) {
  switch (kind) {
    case OpKind::kBatchNormBackward:
      return 4;
    case OpKind::kConv2dBackwardData:
    case OpKind::kConv2dBackwardWeights:
    case OpKind::kDenseBackwardData:
    case OpKind::kDenseBackwardWeights:
      return 2;
    default:
      return 0;
  }
}

// What a backward op's operands say about its forward op.
Claim forward_claim(const Op& op, const Shapes& in, const Shapes& out) {
  switch (op.kind) {
    case OpKind::kConv2dBackwardData:
      return {OpKind::kConv2d, {out[0], in[1]}, {in[0]}};
    case OpKind::kConv2dBackwardWeights:
      return {OpKind::kConv2d, concatenate({in[0]}, out), {in[1]}};
    case OpKind::kDenseBackwardData:
      return {OpKind::kDense, {out[0], in[1]}, {in[0]}};
    case OpKind::kDenseBackwardWeights:
      return {OpKind::kDense, concatenate({in[0]}, out), {in[1]}};
    case OpKind::kBatchNormBackward: {
      Shapes made = {in[1], in[3], out.size() > 1 ? out[1] : Shape{}};
      if (in.size() > 4) made.push_back(in[4]);
      return {OpKind::kBatchNorm, {out[0], in[2], in[3]}, made};
    }
    case OpKind::kReluBackward:
      return {OpKind::kAdd, in, out};  // three tensors of one shape
    case OpKind::kMaxPoolBackward:
      return {OpKind::kMaxPool, out, in};
    case OpKind::kAvgPoolBackward:
      return {OpKind::kAvgPool, out, in};
    case OpKind::kSoftmaxCrossEntropyBackward:
      return {OpKind::kSoftmaxCrossEntropy, in, {{1}, out[0]}};
    default:
      return {op.kind, in, out};
  }
}

}  // namespace

Status check_op_shapes(const Graph& graph, const Op& op) {
  if (op.kind == OpKind::kInput) return {};
  Shapes inputs = shapes_of(graph, op.inputs);
  Shapes outputs = shapes_of(graph, op.outputs);
  if (inputs.size() < least_inputs(op.kind) || outputs.empty()) {
    return error(op, fmt::format("got {} inputs and {} outputs", inputs.size(), outputs.size()));
  }
  if (op.kind == OpKind::kSliceBatch || op.kind == OpKind::kPlaceBatch) return check_batch_copy(op, inputs, outputs);
  SLUICE_RETURN_IF_ERROR(narrow_to_slice(op, inputs, outputs));
  if (op.kind == OpKind::kBatchNormBackward && inputs[0] != outputs[0]) {
    return error(op, fmt::format("dx should be {} like x, not {}", to_string(inputs[0]), to_string(outputs[0])));
  }
  const Claim claim = forward_claim(op, inputs, outputs);
  const Result<Shapes> inferred = infer_shapes(claim.forward, op.attributes, claim.inputs);
  if (!inferred.ok()) return error(op, inferred.error().message);
  if (*inferred == claim.outputs) return {};
  return error(op, fmt::format("the shapes of {} should be {}, not {}", to_string(claim.forward), text(*inferred),
                               text(claim.outputs)));
}

Status validate(const Graph& graph) {
  std::vector<bool> defined;
  for (const Tensor& tensor : graph.tensors()) defined.push_back(is_persistent(tensor.role));
  for (const Op& op : graph.ops()) {
    if (op.layer < 0 || op.layer >= static_cast<LayerIndex>(graph.layers.size())) return error(op, "has no layer");
    for (const TensorId id : op.inputs) {
      if (!defined[static_cast<std::size_t>(id)]) {
        return error(op, fmt::format("reads '{}', which nothing wrote before", graph.tensor(id).name));
      }
    }
    SLUICE_RETURN_IF_ERROR(check_op_shapes(graph, op));
    for (const TensorId id : op.outputs) defined[static_cast<std::size_t>(id)] = true;
  }
  return {};
}

}  // namespace sluice
