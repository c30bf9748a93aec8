// Measures how lanes that copy between memory tiers and compute threads slow each other down.
//
// Where the compute threads take every processor, they make the lanes' copies themselves between two ops
// (shared_copy_engine.hpp). Where they leave one free, lanes copy there, and only the memory and the caches are shared.
// So the load is a loop of parallel regions as short as ops are, with help for the lanes between the regions. What the
// lanes' bytes cost is how much longer the loop takes beside lanes that copy without a pause. There are five rounds (or two, for a short look):
// alone (the shortest counts, because others' work only slows down), beside each lane, beside both (medians). Lanes of
// an emulated memory hold their copiers here as they do in a step.
#pragma once

#include "sluice/base/result.hpp"
#include "sluice/base/units.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::probe {

struct LaneBesideCompute {
  BytesPerSecond alone = 0;   // payload, with no other lane at work
  BytesPerSecond shared = 0;  // with both at work; not above `alone`
  Seconds lost_per_byte = 0;  // by compute, beside this lane; 0 to 1 / alone: all of its time
};

struct CopyBesideCompute {
  LaneBesideCompute inward;  // slow to fast
  LaneBesideCompute outward;
};

// Bandwidths of emulated memories, for which whoever copies is held (shared_copy_engine.hpp); 0: not held.
struct EmulatedCopies {
  BytesPerSecond inward = 0;
  BytesPerSecond outward = 0;
};

// Takes about a third of a second a round, and as much memory of each tier as measure_memory().
Result<CopyBesideCompute> measure_copy_beside_compute(const memory::Tier& slow, const memory::Tier& fast, int threads,
                                                      const EmulatedCopies& emulated, int rounds);

}  // namespace sluice::probe
