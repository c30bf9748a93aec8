// A bound no plan can beat, for tiers that ops cannot address and without rematerialization.
//
// Take any op k. The activations that live across it and do not fit the fast budget C were made in the fast tier and
// will be read there again: they go out before k and come back after it. So, with A_k their bytes,
//
//   step >= max(compute before k, (A_k - C)/BW_out) + max(compute from k on, (A_k - C)/BW_in)
//
// and never less than the compute time alone. Where ops may address the slow tier, only the latter holds.
#pragma once

#include "sluice/planners/planner.hpp"

namespace sluice {

Seconds step_lower_bound(const PlanRequest& request);

}  // namespace sluice
