// What builders of machines share (presets.cpp, kinds/kind_*.cpp).
#pragma once

#include "sluice/memory/machine.hpp"

namespace sluice::memory {

// Nominal figures for what has not been measured yet: DRAM as on a two-channel server slice.
inline constexpr BytesPerSecond kNominalDramBandwidth = 50e9;
inline constexpr Seconds kDramLatency = 90e-9;  // ReDL table I, fast memory

// Of the host's memory: what this process may take (base/limits/memory_allowance.hpp).
Bytes memory_capacity();

TierId add_tier(Tier tier, Machine& machine);

// By a link each way, alike.
void join_to_fast(TierId slow, Link link, Machine& machine);

// Joined by a link each way to the fast tier, each as fast as the slower end of it lets bytes go.
void join_as_fast_as_ends(TierId slow, Machine& machine);

// Ordinary memory for an arena, whatever the tier's.
Result<Arena> map_host_memory(const Tier& tier, Bytes bytes);

}  // namespace sluice::memory
