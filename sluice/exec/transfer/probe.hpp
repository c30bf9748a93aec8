// Measures what the machine's tiers and links do: DRAM bandwidths, copy bandwidth between memory tiers, and for a file
// tier the bandwidth each way with the request size and queue depth that reach it.
//
// Takes about 4 s and, for a file tier, 1 GiB of it, written once: shorter bursts show a disk's cache, not the disk.
// The file is measured while all compute threads are busy, as they are in training. The bandwidth of a throttled link
// (and so of every emulated one) is kept, or lowered to what was measured where the hardware cannot reach it: a
// throttle only slows down. Each link is measured by itself; links that share a disk share its bandwidth when both are
// busy. Pass a fresh Machine: figures once lowered are not raised again.
#pragma once

#include "sluice/base/result.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice {

Status measure_links(Machine& machine);

}  // namespace sluice
