// Sentinel section IV-E: how much fast memory a step should have at least.
//
// The bound is the peak of short-lived tensors plus the largest long-lived tensor. With less, short-lived tensors would
// have to move, or a long-lived one would find no room; the paper expects that to cost more than a fifth of the step
// time. The bound is not a limit of what can be planned. The peak of short-lived bytes is the same for every interval
// length, because the paper takes the largest of all intervals. Bytes are the tensors' own, not rounded to pages.
#pragma once

#include "sluice/graph/liveness.hpp"

namespace sluice::graph {

struct FastMemoryBound {
  Bytes short_lived_peak = 0;
  OpIndex short_lived_peak_op = 0;
  TensorId largest_long_lived = -1;  // -1: there is none
  Bytes largest_long_lived_bytes = 0;
  Bytes bytes() const { return short_lived_peak + largest_long_lived_bytes; }
};

// O(tensors + ops).
FastMemoryBound measure_bound(const Graph& graph, const Liveness& liveness);

}  // namespace sluice::graph
