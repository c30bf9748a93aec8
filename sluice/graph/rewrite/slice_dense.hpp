// Slices dense ops and embeddings whose weights are too big to be one operand.
//
// An op needs all its operands in memory at once, so VGG's first dense layer (392 MiB of weights, as much gradient and
// momentum) would alone decide the smallest feasible budget. Sliced by output features, each op touches one part:
//
//   forward    y[:, 0:k]   y[:, k:2k]  ...                                    (each writes its part of y)
//   backward   dx  = dy[:, mk:] wm; dwm, dbm; update wm, bm;
//              dx += ...                        ...  dy[:, 0:k] w0; dw0, db0; update w0, b0
//
// The backward pass begins with the last slice, which the forward pass has just left in fast memory.
//
// An embedding is sliced by rows of its vocabulary; so is a weight that an embedding and the last dense layer share
// (GPT-2, BERT), in all its ops. Weights, biases, their gradients and optimizer states become one tensor per slice,
// "fc1.weight[0:1024]", which starts with the values that the same part of the whole would have. y, dy and x stay
// whole. Ops get a Slice (attributes.hpp). Consecutive ops on one weight are all done for
// one slice before the next slice begins, except where one of them needs a whole tensor that another makes part by
// part.
#pragma once

#include "sluice/base/units.hpp"
#include "sluice/graph/graph.hpp"

namespace sluice::graph {

inline constexpr Bytes kDenseSliceLimit = 16 * kMiB;

// The limit for a model, from its forward graph: a sixty-fourth of all its tensors, from 4 to 16 MiB. Where a fifth of
// them is all the memory there is, the weights, gradient and momentum of an update are a quarter of that.
Bytes dense_slice_limit(const Graph& forward);

// Runs on a logical graph, training or forward. Slices are of about equal size, at most `limit` bytes of weights where
// one feature fits, and whole multiples of 16 features where 16 fit (except the last). Smaller weights stay whole, and
// so do weights that an op of another kind names, too. What is sliced and where depends on the weights alone, so that
// the forward graph gets the same slices as its training graph.
Graph slice_dense(const Graph& logical, Bytes limit = kDenseSliceLimit);

}  // namespace sluice::graph
