// When tensors that are swapped leave and come, in time: the second half of swap_decoder.hpp.
#pragma once

#include "sluice/planners/schedule/paged_step.hpp"

namespace sluice::planners {

struct SwapTimes {
  IdVector<graph::OpIndex, Seconds> op;           // by slot
  const IdVector<graph::TensorId, Seconds>& out;  // by tensor: of its copy
  const IdVector<graph::TensorId, Seconds>& in;
};

// Changes schedules in which tensors come and leave when an op finds them missing or lacks room: each leaves at once
// and comes as early as room allows. What the step then takes.
Seconds spread_swaps(const PagedOps& ops, const SwapTimes& times, Bytes capacity,
                     IdVector<graph::TensorId, TensorSchedule>& schedules);

}  // namespace sluice::planners
