// What an AccessCharge costs in time, the same in simulation and execution.
#pragma once

#include "sluice/policies/policy.hpp"
#include "sluice/profile/memory_time.hpp"

namespace sluice {

// What the op waits for its bytes in `slow`, by the rule that planners' ops go by too (profile/memory_time.hpp); its
// time is then op_seconds_with() this. Traffic beside its own accesses counts alike; what is filled into fast memory is
// written there.
MemorySeconds slow_seconds(const Machine& machine, TierId slow, const AccessCharge& charge);

// It starts this much later: both directions copy at once, each at its link's bandwidth (at its shared one for as long
// as both are busy); then faults.
Seconds wait_seconds(const Machine& machine, const PolicyTiers& tiers, const AccessCharge& charge);

// Compute time lost to pages copied beside it (Link::interference).
Seconds lost_seconds(const Machine& machine, const PolicyTiers& tiers, const BackgroundWork& work);

}  // namespace sluice
