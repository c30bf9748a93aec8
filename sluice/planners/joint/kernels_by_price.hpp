// Implementations of ops by prices of memory (AutoTM section 3.4 chooses them in its integer program).
//
// While op k runs, the certified bound's prices say, a byte of fast memory is worth room[k]: that is what each byte of
// its workspace costs. Each op takes the implementation for which time and workspace cost least together; then prices
// are sought anew, as room is worth something else where others run. A round that does not lower the bound on the step's
// time ends the search.
//
// Cost: a linear program a round, four at most.
#pragma once

#include <vector>

#include "sluice/planners/planner.hpp"

namespace sluice::planners {

// By op of request.graph. Empty: those that ops have anyway, or nobody timed others, or the machine has no prices.
std::vector<graph::OpChoice> kernels_by_price(const PlanRequest& request);

}  // namespace sluice::planners
