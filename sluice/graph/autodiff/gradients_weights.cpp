// Gradients of the op kinds that have parameters.
#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "sluice/graph/autodiff/gradients.hpp"

namespace sluice::graph {
namespace {

Attributes without_activation(Attributes attributes) {
  fuse_activation(attributes, Activation::kNone);
  return attributes;
}

// The gradients of weights and bias: one op makes both. A bias that is not trained is left out.
void differentiate_weights(GradientTape& tape, const Op& op, OpKind kind, TensorId dy) {
  std::vector<TensorId> targets = {op.inputs[1]};
  if (op.inputs.size() > 2 && tape.needs(op.inputs[2])) targets.push_back(op.inputs[2]);
  if (std::none_of(targets.begin(), targets.end(), [&](TensorId id) { return tape.needs(id); })) return;
  const Attributes attributes = without_activation(op.attributes);
  const bool can_accumulate = kind == OpKind::kDenseBackwardWeights;
  if (can_accumulate && tape.accumulate(op, kind, attributes, {op.inputs[0], dy}, targets)) return;
  std::vector<Shape> shapes;
  shapes.reserve(targets.size());
  for (const TensorId id : targets) shapes.push_back(tape.shape(id));
  const std::vector<TensorId> gradients = tape.emit(op, kind, attributes, {op.inputs[0], dy}, shapes);
  for (std::size_t i = 0; i < targets.size(); ++i) tape.give(op, targets[i], gradients[i]);
}

void differentiate_data(GradientTape& tape, const Op& op, OpKind kind, TensorId dy) {
  const TensorId x = op.inputs[0];
  if (!tape.needs(x)) return;
  const Attributes attributes = without_activation(op.attributes);
  tape.give(op, x, tape.emit_one(op, kind, attributes, {dy, op.inputs[1]}, tape.shape(x)));
}

// Norms: one op makes the gradients of x and of scale and shift.
void differentiate_norm(GradientTape& tape, const Op& op, OpKind kind, const Attributes& attributes, TensorId dy) {
  const TensorId x = op.inputs[0];
  const TensorId scale_shift = op.inputs[1];
  if (!tape.needs(x) && !tape.needs(scale_shift)) return;
  const std::vector<TensorId> gradients =
      tape.emit(op, kind, attributes, {x, dy, scale_shift, op.outputs[1]}, {tape.shape(x), tape.shape(scale_shift)});
  tape.give(op, x, gradients[0]);
  tape.give(op, scale_shift, gradients[1]);
}

}  // namespace

void differentiate_convolution(GradientTape& tape, const Op& op, TensorId dy) {
  const bool transposed = op.kind == OpKind::kConvTranspose2d;
  differentiate_data(tape, op, transposed ? OpKind::kConvTranspose2dBackwardData : OpKind::kConv2dBackwardData, dy);
  differentiate_weights(tape, op, transposed ? OpKind::kConvTranspose2dBackwardWeights : OpKind::kConv2dBackwardWeights,
                        dy);
}

void differentiate_dense(GradientTape& tape, const Op& op, TensorId dy) {
  differentiate_data(tape, op, OpKind::kDenseBackwardData, dy);
  differentiate_weights(tape, op, OpKind::kDenseBackwardWeights, dy);
}

void differentiate_embedding(GradientTape& tape, const Op& op, TensorId dy) {
  const TensorId weight = op.inputs[1];
  const OpKind kind = OpKind::kEmbeddingBackward;
  if (!tape.needs(weight) || tape.accumulate(op, kind, op.attributes, {op.inputs[0], dy}, {weight})) return;
  tape.give(op, weight, tape.emit_one(op, kind, op.attributes, {op.inputs[0], dy}, tape.shape(weight)));
}

// A residual is added behind the norm and before the activation, so it has the gradient `dy` as it is.
void differentiate_batch_norm(GradientTape& tape, const Op& op, TensorId dy) {
  const bool residual = op.inputs.size() > 3;
  const Attributes attributes = residual ? without_activation(op.attributes) : op.attributes;
  differentiate_norm(tape, op, OpKind::kBatchNormBackward, attributes, dy);
  if (residual) tape.share(op, op.inputs[3], dy);
}

void differentiate_layer_norm(GradientTape& tape, const Op& op, TensorId dy) {
  differentiate_norm(tape, op, OpKind::kLayerNormBackward, op.attributes, dy);
}

void differentiate_lstm_cell(GradientTape& tape, const Op& op, TensorId /*dy*/) {
  const TensorId gates_x = op.inputs[0];
  const auto [h, c, gates] = std::tuple(op.outputs[0], op.outputs[1], op.outputs[2]);
  std::optional<TensorId> dh = tape.gradient(op, h);
  const std::optional<TensorId> dc = tape.gradient(op, c);
  if (!dh && !dc) return;
  if (!dh) {  // only the cell is used: dh is zero times dc
    const UnaryAttributes zero{.function = UnaryFunction::kLinear};
    dh = tape.emit_one(op, OpKind::kUnary, zero, {*dc}, tape.shape(h));
  }
  auto attributes = op.as<RecurrentAttributes>();
  attributes.carry = dc.has_value();
  std::vector<TensorId> inputs = {*dh, gates, c};
  std::vector<Shape> outputs = {tape.shape(gates_x)};
  if (attributes.state) {
    inputs.insert(inputs.end(), {op.inputs[2], op.inputs[3]});
    outputs.insert(outputs.end(), {tape.shape(h), tape.shape(c)});
  }
  if (dc) inputs.push_back(*dc);
  const std::vector<TensorId> made = tape.emit(op, OpKind::kLstmCellBackward, attributes, std::move(inputs), outputs);
  tape.give(op, gates_x, made[0]);
  if (!attributes.state) return;
  tape.give(op, op.inputs[1], made[1]);
  tape.give(op, op.inputs[2], made[2]);
  // The recurrent weights are those of a dense op from the earlier h to the gates.
  tape.give_product(op.inputs[3], op.inputs[1], made[0]);
}

}  // namespace sluice::graph
