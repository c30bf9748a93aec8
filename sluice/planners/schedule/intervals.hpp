// Migration intervals (Sentinel section IV-D): a step is cut into runs of `length` layers; tensors are prefetched for
// the next interval while this one runs. "Layers" are the layer spans of liveness.hpp: an L-layer model has about 2L,
// forward and backward.
//
// Equations 1 and 2 of the paper, in this project's terms (S = fast budget, per interval i of a given length):
//   RS        = peak bytes of short-lived tensors
//   Tensor_i  = bytes of long-lived tensors that interval i uses and interval i-1 does not
//   (1) space constraint   max_i Tensor_i < S - RS
//   (2) goal               min  (S - RS) / BW - T,  T = the shortest interval's time
// (2) as printed asks for the longest interval that (1) allows, since S - RS hardly changes. `exposed_seconds` is the
// same difference with the bytes that really move, summed over the intervals where it is positive.
#pragma once

#include <vector>

#include "sluice/base/id_vector.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/profile/cost_model.hpp"

namespace sluice::planners {

struct IntervalCut {
  int length = 1;  // layers per interval (the paper's MIL)
  IdVector<int, Interval<graph::OpIndex>> intervals;
  IdVector<graph::OpIndex, int> interval_of_op;
};

struct IntervalEstimate {
  Bytes tensor_bytes = 0;    // max_i Tensor_i
  Bytes room_bytes = 0;      // S - RS
  bool space_ok = false;     // equation 1
  Seconds goal_seconds = 0;  // equation 2 as printed
  Seconds exposed_seconds = 0;
};

IntervalCut cut_into_intervals(const graph::Liveness& liveness, int length);
IntervalEstimate estimate_intervals(const graph::Graph& graph, const graph::Liveness& liveness,
                                    const profile::CostModel& costs, const IntervalCut& cut, Bytes budget,
                                    BytesPerSecond inward_bandwidth);

}  // namespace sluice::planners
