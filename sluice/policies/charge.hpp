// What a policy's decisions cost in time, the same in simulation and execution.
#pragma once

#include "sluice/policies/policy.hpp"
#include "sluice/profile/memory_time.hpp"

namespace sluice::policies {

// How long the op waits for its bytes in slow tiers, by the rule that is also used with planners
// (profile/memory_time.hpp). op_seconds_with() of the result is the op's time. Traffic beside the op's own accesses counts
// in the same way; what is filled into fast memory is written there.
profile::MemorySeconds slow_seconds(const memory::Machine& machine, const AccessCharge& charge);

// How much later the op starts. Both directions between two tiers copy at once, each at its link's bandwidth (at its
// shared one for as long as both are busy), and pairs of tiers beside one another; then come the faults.
// `link_bytes`: copied before the op, by LinkId.
Seconds wait_seconds(const memory::Machine& machine, std::span<const Bytes> link_bytes, Seconds fault_seconds);

// Compute time lost to pages copied beside it (Link::interference).
Seconds lost_seconds(const memory::Machine& machine, std::span<const Bytes> link_bytes);

}  // namespace sluice::policies
