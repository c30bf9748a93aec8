// Clips gradients by their global norm: where the root of the sum of the squares of all of them is above `norm`, each is
// multiplied by what brings it down to that, as PyTorch's clip_grad_norm_ does.
//
//   before   ... dw2   update w2   dw1   update w1
//   after    ... dw2   squares of dw2   dw1   squares of dw1   factor   update w2   update w1
//
// A gradient's squares are added up as soon as it is there, by the processor that will update, so that no further pass
// over memory is needed at the end. Updates wait for the last gradient, which all of them then live to see; where ops of
// the step read parameters that it has updated (a network with two losses), each loss's gradients have a norm of their
// own.
#pragma once

#include "sluice/graph/graph.hpp"

namespace sluice::graph {

// Runs behind everything but scale_loss() (prepare.hpp), for which a `norm` of 0 makes factors that clip nothing.
Graph clip_gradients(const Graph& training, float norm);

}  // namespace sluice::graph
