// Batch norms as ops that treat samples alone, for those that are sliced by samples (slice_batch.hpp).
//
// A batch norm needs the mean and variance of the whole batch, so it reads all of x before it writes the first y, and
// in one op x and y are in memory together. In parts, only small tensors of [2, C] are ever whole:
//
//   forward    statistics = kBatchNormStatistics(x)                       some samples
//              stats, running = kBatchNormMerge(statistics, running)      one per slice comes in
//              y = kBatchNormApply(x, scale_shift, stats, [residual])     some samples
//   backward   dscale_shift = kBatchNormBackwardSums(x, dy, ...)          some samples; slices are added
//              dx = kBatchNormBackwardApply(x, dy, ..., dscale_shift)     some samples
//
// The price is that x is read from memory twice even where a block of its channels would stay in the cache.
//
// Statistics are merged as Chan, Golub and LeVeque do ("Algorithms for computing the sample variance", 1983), here for
// equally many samples each: the mean of the means, and the mean of the variances plus the variance of the means. So
// the variance keeps its digits when the mean is far from zero, and one slice alone gives what kBatchNorm gives.
#pragma once

#include <vector>

#include "sluice/graph/graph.hpp"

namespace sluice::graph {

struct SplitGraph {
  Graph graph;
  std::vector<bool> sliced;  // by OpIndex of `graph`
};

// Replaces the kBatchNorm and kBatchNormBackward ops among the sliced ones (by OpIndex of `logical`, each separable()).
// Their parts take their places and are sliced, all but the merges. Tensors keep their ids; ops of y and dx keep their
// names, the others are "<name>.statistics", "<name>.merge" and "<name>.sums", statistics before the merge
// "<stats>.part".
SplitGraph split_batch_norms(const Graph& logical, const std::vector<bool>& sliced);

}  // namespace sluice::graph
