// The gradient of each forward op kind, as backward ops. One function per kind; differentiate() selects it. Internal
// to autodiff.
#pragma once

#include "sluice/graph/autodiff/gradient_tape.hpp"

namespace sluice {

// Appends the backward ops of one forward op, whose consumers have been differentiated already, and hands their results
// to the op's inputs. A loss starts from 1; any other op whose output has no gradient is left out.
void differentiate(GradientTape& tape, const Op& op);

// By family. `dy` is the gradient of the op's first output, before a fused activation.
void differentiate_convolution(GradientTape& tape, const Op& op, TensorId dy);
void differentiate_dense(GradientTape& tape, const Op& op, TensorId dy);
void differentiate_embedding(GradientTape& tape, const Op& op, TensorId dy);
void differentiate_batch_norm(GradientTape& tape, const Op& op, TensorId dy);
void differentiate_layer_norm(GradientTape& tape, const Op& op, TensorId dy);
void differentiate_lstm_cell(GradientTape& tape, const Op& op);

void differentiate_unary(GradientTape& tape, const Op& op, TensorId dy);
void differentiate_binary(GradientTape& tape, const Op& op, TensorId dy);
void differentiate_select(GradientTape& tape, const Op& op, TensorId dy);
void differentiate_reduce(GradientTape& tape, const Op& op, TensorId dy);
void differentiate_broadcast(GradientTape& tape, const Op& op, TensorId dy);
void differentiate_reshape(GradientTape& tape, const Op& op, TensorId dy);
void differentiate_transpose(GradientTape& tape, const Op& op, TensorId dy);
void differentiate_concat(GradientTape& tape, const Op& op, TensorId dy);
void differentiate_pad(GradientTape& tape, const Op& op, TensorId dy);
void differentiate_sparse_product(GradientTape& tape, const Op& op, TensorId dy);
void differentiate_matmul(GradientTape& tape, const Op& op, TensorId dy);

}  // namespace sluice
