// Measures what the machine's tiers and links do: bandwidths of DRAM, and of NUMA nodes where the firmware does not
// give them; between memory tiers the bandwidth each way of copies beside compute, one way and both ways at once, and
// what they cost compute (probe_beside_compute.hpp); and for a file tier the bandwidth each way, alone and both ways at
// once, with the request size and queue depth that reach it.
//
// Takes about 4 s and, for a file tier, 1 GiB of it (probe_memory.hpp and probe_file.hpp say how). The bandwidth of a
// throttled link (and so of every emulated one) is kept, or lowered to what was measured where the hardware cannot
// reach it: a throttle only slows down. Pass a fresh Machine: figures once lowered are
// not raised again.
#pragma once

#include "sluice/base/result.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice {

Status measure_links(Machine& machine);

}  // namespace sluice
