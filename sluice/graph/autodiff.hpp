// Appends the backward and update ops of a training step to a forward graph.
//
// Backward ops follow in the reverse order of the forward ops, in the same layers. A parameter's SGD update stands
// directly after the last op that needs the old value or makes its gradient, so that gradients are short-lived.
// Where a tensor has several consumers, their gradients are summed by kAdd ops; a gradient with one source is used as
// it is, also by several consumers (both branches of a residual add read the same tensor: nothing is copied).
// Images get no gradient, so the ops that would compute one are left out.
//
// The update is PyTorch's: v = momentum * v + (g + weight_decay * w); w -= learning_rate * v. The learning rate is a
// run-time value (StepContext). Weight decay applies to every parameter, batch-norm scale and shift included.
//
// Input: a forward graph that passed GraphBuilder::finish(). A graph without a softmax cross-entropy, or with an op
// that is not a forward op, breaks an invariant of ours and throws (SLUICE_CHECK).
#pragma once

#include "sluice/graph/graph.hpp"

namespace sluice {

struct SgdOptions {
  float momentum = 0.9F;
  float weight_decay = 1e-4F;
};

Graph build_training_graph(const Graph& forward, const SgdOptions& options);

}  // namespace sluice
