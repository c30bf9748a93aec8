// Which ops are sliced by samples, and into how many slices: the decision. slice_batch.hpp carries it out.
#pragma once

#include <vector>

#include "sluice/base/interval.hpp"
#include "sluice/base/units.hpp"
#include "sluice/graph/graph.hpp"

namespace sluice::graph {

struct BatchSlices {
  std::vector<Interval<std::int64_t>> samples;  // of each slice, all of one length; none: nothing is sliced
  std::vector<bool> ops;                        // by OpIndex: sliced
};

// Ops whose operands exceed `limit` bytes are sliced, and so are their neighbours where that saves copies between
// slices and whole tensors. The number of slices is the same for the whole graph: the smallest divisor of the batch
// that brings the largest of the ops under the limit (or the batch).
BatchSlices choose_batch_slices(const Graph& logical, Bytes limit);

// An op leaves a plan room to work in when its operands are at most this part of the step's peak (one in
// kLimitsInPeak), or at most this size.
inline constexpr Bytes kLimitsInPeak = 10;
inline constexpr Bytes kSmallestSliceLimit = 8 * kMiB;

// The limit for models, by the two numbers above: at a budget of a fifth of the peak the largest op takes half. Where
// an op that cannot be sliced is larger, it decides the smallest budget anyway, and slicing the others below its size
// would only cost copies. `finer` divides both numbers.
Bytes batch_slice_limit(const Graph& logical, int finer = 1);

}  // namespace sluice::graph
