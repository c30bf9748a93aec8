#include "sluice/graph/autodiff/gradients.hpp"

#include <array>

#include "sluice/base/as_index.hpp"

namespace sluice::graph {

void differentiate_input(GradientTape& tape, const Op& op, OpKind kind, std::vector<TensorId> inputs) {
  const TensorId x = op.inputs[0];
  if (!tape.needs(x)) return;
  Attributes attributes = op.attributes;
  fuse_activation(attributes, Activation::kNone);  // differentiated by an op of its own
  tape.give(op, x, tape.emit_one(op, kind, attributes, std::move(inputs), tape.shape(x)));
}

namespace {

// Through a fused activation, by the op's output; a batch norm's own backward op does this itself.
TensorId before_activation(GradientTape& tape, const Op& op, TensorId dy) {
  const bool inside = op.kind == OpKind::kBatchNorm && op.inputs.size() == 3;
  const Activation activation = fused_activation(op.attributes);
  if (activation == Activation::kNone || inside) return dy;
  const TensorId y = op.outputs[0];
  if (activation == Activation::kRelu) {
    return tape.emit_one(op, OpKind::kReluBackward, {}, {y, dy}, tape.shape(y));
  }
  const UnaryAttributes relu6{.function = UnaryFunction::kClip, .alpha = 0, .beta = 6};
  return tape.emit_one(op, OpKind::kUnaryBackward, relu6, {y, dy}, tape.shape(y));
}

}  // namespace

void no_gradient(GradientTape& /*tape*/, const Op& op, TensorId /*dy*/) {
  SLUICE_CHECK(false, "op " + op.name + " has no gradient");
}

// Losses start from 1.
void differentiate_softmax_cross_entropy(GradientTape& tape, const Op& op, TensorId /*dy*/) {
  differentiate_input(tape, op, OpKind::kSoftmaxCrossEntropyBackward, {op.outputs[1], op.inputs[1]});
}
void differentiate_sigmoid_cross_entropy(GradientTape& tape, const Op& op, TensorId /*dy*/) {
  differentiate_input(tape, op, OpKind::kSigmoidCrossEntropyBackward, {op.inputs[0]});
}
void differentiate_mean_loss(GradientTape& tape, const Op& op, TensorId /*dy*/) {
  differentiate_input(tape, op, OpKind::kMeanLossBackward, {op.inputs[0]});
}

// Kinds whose result and input are of one shape or related by a window: one backward op each.
void differentiate_local_response_norm(GradientTape& tape, const Op& op, TensorId dy) {
  differentiate_input(tape, op, OpKind::kLocalResponseNormBackward, {op.inputs[0], dy});
}
void differentiate_relu(GradientTape& tape, const Op& op, TensorId dy) {
  differentiate_input(tape, op, OpKind::kReluBackward, {op.outputs[0], dy});
}
void differentiate_max_pool(GradientTape& tape, const Op& op, TensorId dy) {
  differentiate_input(tape, op, OpKind::kMaxPoolBackward, {dy, op.outputs[1]});
}
void differentiate_avg_pool(GradientTape& tape, const Op& op, TensorId dy) {
  differentiate_input(tape, op, OpKind::kAvgPoolBackward, {dy});
}
void differentiate_softmax(GradientTape& tape, const Op& op, TensorId dy) {
  differentiate_input(tape, op, OpKind::kSoftmaxBackward, {op.outputs[0], dy});
}
void differentiate_dropout(GradientTape& tape, const Op& op, TensorId dy) {
  differentiate_input(tape, op, OpKind::kDropout, {dy});
}

void differentiate_reorder(GradientTape& tape, const Op& op, TensorId dy) { tape.share(op, op.inputs[0], dy); }
void differentiate_slice(GradientTape& tape, const Op& op, TensorId dy) { tape.give_slice(op, op.inputs[0], dy); }

// Both branches read the same gradient tensor.
void differentiate_add(GradientTape& tape, const Op& op, TensorId dy) {
  tape.share(op, op.inputs[0], dy);
  tape.share(op, op.inputs[1], dy);
}

void differentiate(GradientTape& tape, const Op& op) {
#define SLUICE_GRADIENT(...) SLUICE_OP_GRADIENT(__VA_ARGS__),
  static constexpr std::array<void (*)(GradientTape&, const Op&, TensorId), kOpKinds> kGradients{
      SLUICE_OPS(SLUICE_GRADIENT)};
#undef SLUICE_GRADIENT
  constexpr TensorId kNobody = -1;
  if (op.kind == OpKind::kInput || !tape.needs(op.outputs[0])) return;
  const auto gradient = kGradients.at(as_index(op.kind));
  if (is_loss(op.kind) || op.kind == OpKind::kLstmCell) return gradient(tape, op, kNobody);
  const std::optional<TensorId> dy = tape.gradient(op, op.outputs[0]);
  if (dy) gradient(tape, op, before_activation(tape, op, *dy));
}

}  // namespace sluice::graph
