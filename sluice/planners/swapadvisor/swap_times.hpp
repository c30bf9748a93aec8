// When tensors that are swapped leave and come, in time: the second half of swap_decoder.hpp.
#pragma once

#include "sluice/planners/schedule/paged_step.hpp"

namespace sluice {

struct SwapTimes {
  IdVector<OpIndex, Seconds> op;           // by slot
  const IdVector<TensorId, Seconds>& out;  // by tensor: of its copy
  const IdVector<TensorId, Seconds>& in;
};

// Changes schedules in which tensors come and leave when an op finds them missing or lacks room: each leaves at once
// and comes as early as room allows. What the step then takes.
Seconds spread_swaps(const PagedOps& ops, const SwapTimes& times, Bytes capacity,
                     IdVector<TensorId, TensorSchedule>& schedules);

}  // namespace sluice
