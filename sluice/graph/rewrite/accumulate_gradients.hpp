// Takes several batches a step: passes over one after the other, whose gradients are averaged before the parameters are
// updated. So a step's activations are those of one batch, and its gradients those of all.
//
//   before   input, passes > dw, update w by dw
//   after    input, passes > dw           sum = dw / n
//            input, passes > batch2/dw    sum = sum + batch2/dw / n     ... update w by sum
//
// Sums are in fp32, whatever the gradients are in, and are added up in the order of batches. Batch norms go by the batch
// that they see, as they do one step after the other; dropout draws anew for each. The loss of a batch is that batch's
// own: a step's is their mean.
#pragma once

#include "sluice/graph/graph.hpp"

namespace sluice::graph {

// `training` reads no parameter again that it has updated (graph/reschedule.hpp: updates_may_run_last). `batches` is
// above 1. Runs before delay_updates() and clip_gradients(), which then go by the sums.
Graph accumulate_gradients(const Graph& training, int batches);

}  // namespace sluice::graph
