// Slices the last layer of a classifier together with its loss, row by row, where the logits are large.
//
// A language model's logits, [tokens, vocabulary], and their gradient are its largest tensors: 196 MiB of GPT-2's 1.8
// GiB at 1024 tokens. An op needs all its operands at once, so they would alone decide the smallest feasible budget.
// Yet a row's loss and gradient need that row only. So the layer, the loss and their backward ops are done for some
// rows, completely, before the next:
//
//   x_0   logits_0   loss  = ..   dlogits_0   dx[0:r]  = dlogits_0 w   dw  = dlogits_0^T x_0
//   x_1   logits_1   loss += ..   dlogits_1   dx[r:2r] = dlogits_1 w   dw += dlogits_1^T x_1   ...
//
// and only a slice of the logits ever exists. The mean is over all labels that count, so every slice reads all labels
// (op.hpp). Rows are what a dense op makes of x, whatever its shape; views lead there and back. In a training graph the
// whole run is backward ops: it stands where the loss's gradient was made. An evaluation graph has the first half.
//
// Cost: each slice reads w twice and reads and writes dw once, so slices are few and large. dw is complete only after
// the last slice, whereas the weights of an unsliced layer, cut by features (slice_dense.hpp), can be updated part by
// part. The loss and dw are sums in the order of the slices, which rounds differently from the unsliced graph; every
// plan runs the same graph, so plans still agree to the last bit.
#pragma once

#include "sluice/base/units.hpp"
#include "sluice/graph/graph.hpp"

namespace sluice::graph {

// The limit for a model, from its unsliced training graph: a sixteenth of the step's peak, at least 4 MiB. A slice's
// logits and their gradient (in bf16 it is another tensor) then take an eighth at most. Half of it would move more
// bytes than it makes room for: every slice sweeps the weights. Where more is computed twice to take less memory
// (Rematerialize::kChains), it is two thirds of it.
Bytes loss_slice_limit(const Graph& training);

// Runs on a logical graph, training or evaluation, before weights are sliced. Where logits exceed `limit` bytes, slices
// have equally many rows (the last may have fewer) and logits of at most `limit` bytes where one row fits. Left whole:
// logits or probabilities that anything else reads, and weights that anything between the layer and its backward ops
// writes.
Graph slice_loss(const Graph& logical, Bytes limit);

}  // namespace sluice::graph
