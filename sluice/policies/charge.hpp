// What an AccessCharge costs in time, the same in simulation and execution.
#pragma once

#include "sluice/policies/policy.hpp"

namespace sluice {

// The op takes this much longer because its bytes lie in `slow`: bytes x (1/slow bandwidth - 1/fast bandwidth) for
// accesses that the slow tier serves (slow_byte_seconds() of profile/cost_model.hpp), bytes / bandwidth for traffic
// beside them.
Seconds slow_seconds(const Machine& machine, TierId slow, const AccessCharge& charge);

// It starts this much later: both directions copy at once, each at its link's bandwidth (at its shared one for as long
// as both are busy); then faults.
Seconds wait_seconds(const Machine& machine, const PolicyTiers& tiers, const AccessCharge& charge);

// Compute time lost to pages copied beside it (Link::interference).
Seconds lost_seconds(const Machine& machine, const PolicyTiers& tiers, const BackgroundWork& work);

}  // namespace sluice
