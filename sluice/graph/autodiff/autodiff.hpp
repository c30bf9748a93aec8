// Appends the backward and update ops of a training step to a forward graph.
//
// Backward ops follow in the reverse order of the forward ops, in the same layers. A parameter's update stands directly
// after the last op that needs the old value or makes its gradient, so that gradients are short-lived.
// Where a tensor has several consumers, their gradients are summed by kAdd ops; a gradient with one source is used as
// it is, also by several consumers (both branches of a residual add read the same tensor: nothing is copied). Where all
// consumers are slices along one axis that cover the tensor, its gradient is their gradients' kConcat. A weight with
// several consumers (an embedding tied to the last dense layer) has its gradient accumulated in place; the gradient of
// a recurrent weight is one product over all time steps.
// Step data gets no gradient, so the ops that would compute one are left out. A graph of several stages
// (Graph::stages) gets each stage's backward and update ops before the forward ops of the next.
//
// With Rematerialize::kCheap (the default), an activation that only backward ops would read late is not kept but made
// again just before they need it, when the op that makes it is cheap and its own operands are kept anyway: batch norms
// (kBatchNormApply from the kept statistics: the same bits), layer norms, unary functions such as GELU, and dropout.
// This halves what a network of convolutions and norms keeps, for one more pass over each such tensor. With
// Rematerialize::kChains so are results whose operands are not kept, but made again likewise: attention's probabilities and
// its result, outputs of residual blocks, concatenations; and a weight's gradient is made before its data's, so that what
// was made again for the one is gone when the other is made.
//
// Updates are those of the optimizer's row (optimizer.hpp): PyTorch's, for those that it has. SGD: g += weight_decay * w;
// v = momentum * v + g; w -= learning_rate * v, and with Nesterov's momentum learning_rate * (g + momentum * v). The
// learning rate is a run-time value (StepContext). Weight decay applies to every parameter, norms' scale and shift included, that has no settings of its own.
//
// Input: a forward graph that passed GraphBuilder::finish(). A graph without a loss, or with an op that is not a
// forward op, breaks an invariant of ours and throws (SLUICE_CHECK).
#pragma once

#include <string>

#include "sluice/graph/graph.hpp"
#include "sluice/graph/optimizers/optimizer.hpp"

namespace sluice::graph {

Graph build_training_graph(const Graph& forward, const OptimizerOptions& options);

}  // namespace sluice::graph
