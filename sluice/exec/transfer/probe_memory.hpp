// Measures the DRAM: what all compute threads together read and write, and what one lane's copies reach.
//
// Takes 256 MiB and about 0.5 s. The best of a few repetitions counts: others' work only slows down.
#pragma once

#include "sluice/base/result.hpp"
#include "sluice/base/units.hpp"

namespace sluice {

struct MemoryBandwidths {
  BytesPerSecond read = 0;   // all compute threads
  BytesPerSecond write = 0;  // all compute threads
  BytesPerSecond copy = 0;   // one lane thread, payload
};

Result<MemoryBandwidths> measure_memory(int threads);

}  // namespace sluice
