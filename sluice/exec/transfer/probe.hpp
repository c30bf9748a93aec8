// Measures what the machine's tiers and links do: DRAM bandwidths, copy bandwidth between memory tiers, and for a file
// tier the bandwidth each way with the request size and queue depth that reach it.
//
// Takes about 2 s and, for a file tier, 256 MiB of it. Bandwidths that are imposed (throttled links, emulated tiers)
// are kept, but lowered to what was measured when the hardware cannot reach them: a throttle only slows down.
#pragma once

#include "sluice/base/result.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice {

Status measure_links(Machine& machine);

}  // namespace sluice
