// Measures how long every op of a step takes on this machine with its operands in the fast tier, warm and cold.
//
// The ops are run in step order in scratch memory (op_timer.hpp), because an op that follows its producer is faster
// than the same op on cold operands, and the sum over ops should be the time of a step. Only ops whose signature the
// cache does not know are measured, each behind the two ops that precede it in the step, and then once more with its
// operands flushed from all caches. An op's times are the medians over the samples of its signature: after a warm-up
// pass, at least five of each in at least three passes (three samples are enough above 100 ms).
//
// What disturbs a measurement only prolongs it. If the medians together are more than kNoise above the shortest
// samples, the moment was noisy, and all is measured again, at most three times in all. Each op keeps the least of its
// medians.
//
// Needs max(96 MiB, the largest op's operands) of memory. Takes about eight step times the first time, twice or three
// times that in a noisy moment, and nothing when the cache knows every op. The input op is timed with a source that
// fills in zeros. Compute thread only.
#pragma once

#include <functional>
#include <string>

#include "sluice/kernels/backend.hpp"
#include "sluice/profile/profile.hpp"
#include "sluice/profile/profile_cache.hpp"

namespace sluice {

inline constexpr double kNoise = 0.1;

// Whether times that the cache knows are used, or measured again and replaced there: they may be of another moment.
enum class KnownTimes { kUse, kReplace };

// Called now and then: how many distinct ops have been measured, of how many.
using ProfileProgress = std::function<void(int measured, int total)>;

// The cache is saved when something was measured; if that fails, a warning is logged and the profile still returned.
// Times by placement that the cache knows are in the profile too; measure_placements() adds the others.
Result<Profile> measure_profile(CompiledGraph& compiled, const Machine& machine, ProfileCache& cache,
                                const ProfileProgress& on_progress = {}, KnownTimes known = KnownTimes::kUse);

}  // namespace sluice
