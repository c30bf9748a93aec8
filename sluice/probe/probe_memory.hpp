// Measures a memory tier: what all compute threads together read and write there.
//
// Takes 128 MiB of it (of a NUMA node not above a quarter of the capacity) and about 0.5 s. The best of a few
// repetitions counts: others' work only slows down.
#pragma once

#include "sluice/base/result.hpp"
#include "sluice/base/units.hpp"
#include "sluice/memory/arena.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::probe {

struct MemoryBandwidths {
  BytesPerSecond read = 0;
  BytesPerSecond write = 0;
};

Result<MemoryBandwidths> measure_memory(const memory::Tier& tier, int threads);

// Equally large parts of two memory tiers (which may be the same), touched.
struct ProbeArenas {
  memory::Arena from;
  memory::Arena to;
};

Result<ProbeArenas> map_probe_arenas(const memory::Tier& from, const memory::Tier& to, int threads);

}  // namespace sluice::probe
