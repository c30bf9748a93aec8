// Measures a memory tier: what all compute threads together read and write there, and what one lane's copies to another
// memory tier (or to the same) reach.
//
// Takes 128 MiB of each tier (of NUMA nodes not above a quarter of the capacity) and about 0.5 s. The best of a few
// repetitions counts: others' work only slows down.
#pragma once

#include "sluice/base/result.hpp"
#include "sluice/base/units.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice {

struct MemoryBandwidths {
  BytesPerSecond read = 0;   // of `from`, all compute threads
  BytesPerSecond write = 0;  // of `from`, all compute threads
  BytesPerSecond copy = 0;   // one lane thread, payload
};

Result<MemoryBandwidths> measure_memory(const Tier& from, const Tier& to, int threads);

}  // namespace sluice
