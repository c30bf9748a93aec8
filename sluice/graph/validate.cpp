#include "sluice/graph/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sluice/graph/shapes/shape_rules.hpp"

namespace sluice {
namespace {

using Shapes = std::vector<Shape>;

// Operand shapes, to be matched against what the forward op of the same name would make of them; and shapes that the
// forward op says nothing about, each with what it should equal.
struct Claim {
  OpKind forward;
  Shapes inputs;
  Shapes outputs;
  std::vector<std::pair<Shape, Shape>> equal = {};
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

// What an op adds to, or writes a part of, is its output and stands among its inputs too, at the end. Leaves it out.
Status drop_operands_named_again(const Op& op, Shapes& inputs, std::size_t outputs) {
  const std::size_t added_to = op.kind == OpKind::kSoftmaxCrossEntropy ? 1 : outputs;  // probabilities are new
  const std::size_t again = op.attributes.accumulate ? added_to : op.attributes.partial ? 1 : 0;
  if (again == 0) return {};
  const bool named =
      op.inputs.size() >= again && op.outputs.size() >= again &&
      std::equal(op.inputs.end() - static_cast<std::ptrdiff_t>(again), op.inputs.end(), op.outputs.begin());
  if (!named) return error(op, "a partial or accumulating op must name its outputs as its last inputs");
  inputs.resize(inputs.size() - again);
  return {};
}

// A sliced op as a whole one: a dense op with its part of the output features only. An embedding's rows must be as many
// as its slice has.
Status narrow_to_slice(const Op& op, Shapes& inputs, Shapes& outputs) {
  const Attributes& slice = op.attributes;
  const bool embedding = op.kind == OpKind::kEmbedding || op.kind == OpKind::kEmbeddingBackward;
  const bool dense =
      op.kind == OpKind::kDense || op.kind == OpKind::kDenseBackwardData || op.kind == OpKind::kDenseBackwardWeights;
  if (slice.out_end == 0 || !(embedding || dense)) return {};
  const bool output = op.kind == OpKind::kDense || op.kind == OpKind::kEmbeddingBackward;
  const bool second = op.kind == OpKind::kDenseBackwardWeights || op.kind == OpKind::kEmbedding;
  Shapes& side = output ? outputs : inputs;
  Shape* const sliced = side.size() > (second ? 1U : 0U) ? &side[second ? 1 : 0] : nullptr;
  const std::int64_t length = slice.out_end - slice.out_begin;
  if (sliced == nullptr || sliced->empty() || slice.out_begin < 0 || length < 1 ||
      (embedding ? sliced->front() != length : slice.out_end > sliced->back())) {
    return error(op, fmt::format("{}:{} is not the slice of {}", slice.out_begin, slice.out_end, text(side)));
  }
  if (dense) sliced->back() = length;
  return {};
}

struct OperandCounts {
  std::size_t inputs = 0;
  std::size_t outputs = 1;
};

// Of a backward op, at least as many outputs; nothing for the others, whose rules count.
std::optional<OperandCounts> backward_operands(const Op& op) {
  const Attributes& a = op.attributes;
  switch (op.kind) {
    case OpKind::kConv2dBackwardData:
    case OpKind::kConv2dBackwardWeights:
    case OpKind::kConvTranspose2dBackwardData:
    case OpKind::kConvTranspose2dBackwardWeights:
    case OpKind::kDenseBackwardData:
    case OpKind::kDenseBackwardWeights:
    case OpKind::kEmbeddingBackward:
    case OpKind::kLocalResponseNormBackward:
    case OpKind::kReluBackward:
    case OpKind::kUnaryBackward:
    case OpKind::kSoftmaxBackward:
    case OpKind::kMaxPoolBackward:
    case OpKind::kSoftmaxCrossEntropyBackward:
      return OperandCounts{2, 1};
    case OpKind::kAvgPoolBackward:
    case OpKind::kSigmoidCrossEntropyBackward:
      return OperandCounts{1, 1};
    case OpKind::kBatchNormBackward:
    case OpKind::kLayerNormBackward:
      return OperandCounts{4, 2};
    case OpKind::kLstmCellBackward:
      return OperandCounts{3 + (a.state ? 2U : 0U) + (a.carry ? 1U : 0U), a.state ? 3U : 1U};
    default:
      return std::nullopt;
  }
}

Claim lstm_cell_claim(const Op& op, const Shapes& in, const Shapes& out) {
  Claim claim{OpKind::kLstmCell, {in[1]}, {in[0], in[2], out[0]}};
  if (op.attributes.state) {
    claim.inputs.insert(claim.inputs.end(), {out[1], in[3], in[4]});
    claim.equal.emplace_back(out[2], in[3]);
  }
  if (op.attributes.carry) claim.equal.emplace_back(in.back(), in[2]);
  return claim;
}

// What a backward op's operands say about its forward op.
Claim forward_claim(const Op& op, const Shapes& in, const Shapes& out) {
  switch (op.kind) {
    case OpKind::kConv2dBackwardData:
      return {OpKind::kConv2d, {out[0], in[1]}, {in[0]}};
    case OpKind::kConv2dBackwardWeights:
      return {OpKind::kConv2d, concatenate({in[0]}, out), {in[1]}};
    case OpKind::kConvTranspose2dBackwardData:
      return {OpKind::kConvTranspose2d, {out[0], in[1]}, {in[0]}};
    case OpKind::kConvTranspose2dBackwardWeights:
      return {OpKind::kConvTranspose2d, concatenate({in[0]}, out), {in[1]}};
    case OpKind::kDenseBackwardData:
      return {OpKind::kDense, {out[0], in[1]}, {in[0]}};
    case OpKind::kDenseBackwardWeights:
      return {OpKind::kDense, concatenate({in[0]}, out), {in[1]}};
    case OpKind::kEmbeddingBackward:
      return {OpKind::kEmbedding, concatenate({in[0]}, out), {in[1]}};
    case OpKind::kBatchNormBackward:
      return {OpKind::kBatchNorm, {out[0], in[2], in[3]}, {in[1], in[3], out[1]}, {{in[0], out[0]}}};
    case OpKind::kLayerNormBackward:
      return {OpKind::kLayerNorm, {out[0], in[2]}, {in[1], in[3]}, {{in[0], out[0]}, {out[1], in[2]}}};
    case OpKind::kLstmCellBackward:
      return lstm_cell_claim(op, in, out);
    case OpKind::kLocalResponseNormBackward:
    case OpKind::kReluBackward:
    case OpKind::kUnaryBackward:
    case OpKind::kSoftmaxBackward:
      return {OpKind::kAdd, in, out};  // three tensors of one shape
    case OpKind::kMaxPoolBackward:
      return {OpKind::kMaxPool, out, in};
    case OpKind::kAvgPoolBackward:
      return {OpKind::kAvgPool, out, in};
    case OpKind::kSoftmaxCrossEntropyBackward:
      return {OpKind::kSoftmaxCrossEntropy, in, {{1}, out[0]}};
    case OpKind::kSigmoidCrossEntropyBackward:
      return {OpKind::kReorder, in, out};  // two tensors of one shape
    default:
      return {op.kind, in, out};
  }
}

}  // namespace

Status check_op_shapes(const Graph& graph, const Op& op) {
  if (op.kind == OpKind::kInput || !op.views.empty()) return {};
  Shapes inputs = shapes_of(graph, op.inputs);
  Shapes outputs = shapes_of(graph, op.outputs);
  if (op.kind == OpKind::kSliceBatch || op.kind == OpKind::kPlaceBatch) return check_batch_copy(op, inputs, outputs);
  SLUICE_RETURN_IF_ERROR(drop_operands_named_again(op, inputs, outputs.size()));
  const std::optional<OperandCounts> counts = backward_operands(op);
  if (outputs.empty() || (counts && (inputs.size() != counts->inputs || outputs.size() < counts->outputs))) {
    return error(op, fmt::format("got {} inputs and {} outputs", inputs.size(), outputs.size()));
  }
  SLUICE_RETURN_IF_ERROR(narrow_to_slice(op, inputs, outputs));
  const Claim claim = forward_claim(op, inputs, outputs);
  for (const auto& [got, expected] : claim.equal) {
    if (got != expected) return error(op, fmt::format("{} should be {}", to_string(got), to_string(expected)));
  }
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
