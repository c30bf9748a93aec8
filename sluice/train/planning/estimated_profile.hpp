// A profile that nobody measured: op times in proportion to the bytes of the operands, on any processor. It is enough to
// order transfers, and for planners that do not look at times at all. For figures that anybody sees, measure
// (measure/profiler.hpp).
#pragma once

#include "sluice/profile/profile.hpp"

namespace sluice::train {

profile::Profile estimated_profile(const graph::Graph& graph, const memory::Machine& machine);

}  // namespace sluice::train
