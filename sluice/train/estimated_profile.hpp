// A profile that nobody measured: op times in proportion to the bytes of the operands. Enough to order transfers, and
// for planners that do not look at times at all; for figures that anybody sees, measure (exec/profiler.hpp).
#pragma once

#include "sluice/profile/profile.hpp"

namespace sluice {

Profile estimated_profile(const Graph& graph, const Machine& machine);

}  // namespace sluice
