#include "sluice/graph/autodiff/gradients.hpp"

namespace sluice {
namespace {

// Of ops with one differentiable input, inputs[0], and a backward kind of the same attributes.
void differentiate_input(GradientTape& tape, const Op& op, OpKind kind, std::vector<TensorId> inputs) {
  const TensorId x = op.inputs[0];
  if (!tape.needs(x)) return;
  Attributes attributes = op.attributes;
  attributes.activation = Activation::kNone;  // differentiated by an op of its own
  tape.give(op, x, tape.emit_one(op, kind, attributes, std::move(inputs), tape.shape(x)));
}

// Through a fused activation, by the op's output; a batch norm's own backward op does this itself.
TensorId before_activation(GradientTape& tape, const Op& op, TensorId dy) {
  const bool inside = op.kind == OpKind::kBatchNorm && op.inputs.size() == 3;
  if (op.attributes.activation == Activation::kNone || inside) return dy;
  Attributes attributes;
  const TensorId y = op.outputs[0];
  if (op.attributes.activation == Activation::kRelu) {
    return tape.emit_one(op, OpKind::kReluBackward, attributes, {y, dy}, tape.shape(y));
  }
  attributes.unary = UnaryFunction::kClip;
  attributes.alpha = 0;
  attributes.beta = 6;
  return tape.emit_one(op, OpKind::kUnaryBackward, attributes, {y, dy}, tape.shape(y));
}

void differentiate_loss(GradientTape& tape, const Op& op) {
  if (op.kind == OpKind::kSoftmaxCrossEntropy) {
    return differentiate_input(tape, op, OpKind::kSoftmaxCrossEntropyBackward, {op.outputs[1], op.inputs[1]});
  }
  const bool mean = op.kind == OpKind::kMeanLoss;
  differentiate_input(tape, op, mean ? OpKind::kMeanLossBackward : OpKind::kSigmoidCrossEntropyBackward,
                      {op.inputs[0]});
}

// Kinds whose result and input are of one shape or related by a window: one backward op each.
void differentiate_simple(GradientTape& tape, const Op& op, TensorId dy) {
  const TensorId x = op.inputs[0];
  const TensorId y = op.outputs[0];
  switch (op.kind) {
    case OpKind::kLocalResponseNorm:
      return differentiate_input(tape, op, OpKind::kLocalResponseNormBackward, {x, dy});
    case OpKind::kRelu:
      return differentiate_input(tape, op, OpKind::kReluBackward, {y, dy});
    case OpKind::kMaxPool:
      return differentiate_input(tape, op, OpKind::kMaxPoolBackward, {dy, op.outputs[1]});
    case OpKind::kAvgPool:
      return differentiate_input(tape, op, OpKind::kAvgPoolBackward, {dy});
    case OpKind::kSoftmax:
      return differentiate_input(tape, op, OpKind::kSoftmaxBackward, {y, dy});
    case OpKind::kDropout:
      return differentiate_input(tape, op, OpKind::kDropout, {dy});
    case OpKind::kReorder:
      return tape.share(op, x, dy);
    case OpKind::kAdd:  // both branches read the same gradient tensor
      tape.share(op, x, dy);
      return tape.share(op, op.inputs[1], dy);
    case OpKind::kSlice:
      return tape.give_slice(op, x, dy);
    default:
      SLUICE_CHECK(false, "op " + op.name + " has no gradient");
  }
}

void differentiate_by_output(GradientTape& tape, const Op& op, TensorId dy) {
  switch (op.kind) {
    case OpKind::kConv2d:
    case OpKind::kConvTranspose2d:
      return differentiate_convolution(tape, op, dy);
    case OpKind::kDense:
      return differentiate_dense(tape, op, dy);
    case OpKind::kEmbedding:
      return differentiate_embedding(tape, op, dy);
    case OpKind::kBatchNorm:
      return differentiate_batch_norm(tape, op, dy);
    case OpKind::kLayerNorm:
      return differentiate_layer_norm(tape, op, dy);
    case OpKind::kUnary:
      return differentiate_unary(tape, op, dy);
    case OpKind::kBinary:
      return differentiate_binary(tape, op, dy);
    case OpKind::kSelect:
      return differentiate_select(tape, op, dy);
    case OpKind::kReduce:
      return differentiate_reduce(tape, op, dy);
    case OpKind::kBroadcast:
      return differentiate_broadcast(tape, op, dy);
    case OpKind::kReshape:
      return differentiate_reshape(tape, op, dy);
    case OpKind::kTranspose:
      return differentiate_transpose(tape, op, dy);
    case OpKind::kConcat:
      return differentiate_concat(tape, op, dy);
    case OpKind::kPad:
      return differentiate_pad(tape, op, dy);
    case OpKind::kSparseProduct:
      return differentiate_sparse_product(tape, op, dy);
    case OpKind::kMatMul:
      return differentiate_matmul(tape, op, dy);
    default:
      return differentiate_simple(tape, op, dy);
  }
}

}  // namespace

void differentiate(GradientTape& tape, const Op& op) {
  if (op.kind == OpKind::kInput || !tape.needs(op.outputs[0])) return;
  if (is_loss(op.kind)) return differentiate_loss(tape, op);
  if (op.kind == OpKind::kLstmCell) return differentiate_lstm_cell(tape, op);
  const std::optional<TensorId> dy = tape.gradient(op, op.outputs[0]);
  if (dy) differentiate_by_output(tape, op, before_activation(tape, op, *dy));
}

}  // namespace sluice
