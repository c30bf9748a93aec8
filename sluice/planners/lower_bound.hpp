// A bound no plan can beat, for tiers that ops cannot address and without rematerialization.
//
// Take any op k and the fast budget C. Of the A_k bytes of activations that live across k, those not in the fast tier
// at that moment were made there, so they went out before k, and will be read there, so they come back after k. Of the
// P_k bytes of persistent tensors used from k on, those not in the fast tier at k come in after k. At most C bytes are
// there:
//
//   step >= max(compute before k, (A_k - C)/BW_out) + max(compute from k on, (A_k + P_k - C)/BW_in)
//
// and never less than the compute time alone. Where ops may address the slow tier, only the latter holds. Links count
// at their full bandwidth: while they share a disk they are only slower.
#pragma once

#include "sluice/planners/planner.hpp"

namespace sluice {

Seconds step_lower_bound(const PlanRequest& request);

}  // namespace sluice
