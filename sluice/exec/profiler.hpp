// Measures how long every op of a step takes on this machine with its operands in the fast tier.
//
// The ops are run in step order in scratch memory (scratch_ring.hpp), because an op that follows its producer is faster
// than the same op on cold operands, and the sum over ops should be the time of a step. Only ops whose signature the
// cache does not know are measured, each behind the two ops that precede it in the step. An op's time is the median
// over the samples of its signature: after a warm-up pass, at least five in at least three passes (three samples are
// enough above 100 ms).
//
// Needs max(96 MiB, the largest op's operands) of memory and about five step times the first time; nothing
// when the cache knows every op. The input op is timed with a source that fills in zeros. Compute thread only.
#pragma once

#include <functional>
#include <string>

#include "sluice/exec/backend.hpp"
#include "sluice/profile/profile.hpp"
#include "sluice/profile/profile_cache.hpp"

namespace sluice {

// Called after each pass over the step: how many distinct ops have been measured, of how many.
using ProfileProgress = std::function<void(int measured, int total)>;

// The cache is saved when something was measured; if that fails, a warning is logged and the profile still returned.
Result<Profile> measure_profile(CompiledGraph& compiled, const Machine& machine, ProfileCache& cache,
                                const ProfileProgress& on_progress = {});

}  // namespace sluice
