// Slices by samples the ops whose operands are too big to be in memory together.
//
// An op needs all its operands at once, so VGG-16's second convolution (two activations of 392 MiB at batch 32) would
// alone decide the smallest feasible budget. Convolutions, activations, additions, concats and pooling of images treat
// every sample by itself, so a run of such ops can do a few samples at a time, and only a slice of each activation
// between them is ever needed:
//
//   conv1_2 relu1_2 pool1  for samples [0, 4), then for samples [4, 8), ...
//
// Batch norms are split first (split_batch_norm.hpp). Their parts that work on single samples join the runs. The small
// rest, which merges the slices' statistics, comes between two runs.
//
// A batch tensor between sliced ops becomes one tensor per slice, "conv1_2.y[0:4]". Where a run meets the rest of the
// graph, kSliceBatch copies a slice out of the whole tensor and kPlaceBatch copies one into it. A weight gradient is
// the sum of the slices' gradients, added in sample order, so a sliced graph rounds differently from an unsliced one;
// every plan runs the same graph, so plans still agree to the last bit. Updates wait until the run's gradients are
// complete. Dropout is never sliced: its random numbers depend on the element's place in the whole tensor.
#pragma once

#include "sluice/base/units.hpp"
#include "sluice/graph/graph.hpp"

namespace sluice::graph {

// Runs on a logical training or forward graph, with a limit from batch_slices.hpp, which says what is sliced.
Graph slice_batch(const Graph& logical, Bytes limit);

}  // namespace sluice::graph
