// Measures how lanes that copy between memory tiers and compute threads slow each other down.
//
// Where the compute threads take every processor, they do the lanes' copies themselves between two ops
// (shared_copy_engine.hpp); where they leave one, lanes copy there, and what is left is the memory and the caches that
// both use. So the load is a loop of parallel regions as short as ops are, with help for the lanes between them, and
// how much longer it takes beside lanes that copy without a pause is what their bytes cost. Five rounds: alone (the
// shortest counts, others' work only slows down), beside one lane, beside two, there and back (medians).
#pragma once

#include "sluice/base/result.hpp"
#include "sluice/base/units.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice {

struct CopyBesideCompute {
  BytesPerSecond one = 0;     // payload of one lane beside compute
  BytesPerSecond both = 0;    // of each of two, not above `one`
  Seconds lost_per_byte = 0;  // by compute, beside one lane; 0 to 1 / one: all of its time
};

// Takes about a second and what measure_memory() takes of each tier.
Result<CopyBesideCompute> measure_copy_beside_compute(const Tier& slow, const Tier& fast, int threads);

}  // namespace sluice
