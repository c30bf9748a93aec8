// Measures how long the ops of a step take on this machine with their operands in the fast tier.
//
// The ops are run in step order in scratch memory (op_timer.hpp), because an op that follows its producer is faster
// than the same op on cold operands, and the sum over ops should be the time of a step. Only ops whose signature the
// cache does not know are measured, one or two of each, behind the two ops that precede them in the step.
//
//   1  of each kind, the op that takes most of the step (by profile/op_estimate.hpp) runs twice. From here on the others
//      of its kind can be told from it, and the small ones are: those that together take less than kSmallShare
//   2  the others run in passes over the step, the first to warm up, until there are three samples of each. Medians count
//   3  what disturbs a measurement only prolongs it. If the medians together are more than kNoise above the shortest
//      samples, the moment was noisy, and pass after pass is run again, at most three times as many; each op keeps the
//      least of its medians
//
// All of that ends when its time is over; what has no sample then is estimated. Without a limit every op is measured.
// Where cold times are wanted, ops are run once more in each pass where no byte of their operands is in a cache.
//
// Needs max(96 MiB, the machine's caches, the largest op's operands) of memory. Takes nothing when the cache knows
// every op. The input op is timed with a source that fills in zeros. Compute thread only.
#pragma once

#include <functional>
#include <limits>
#include <string>

#include "sluice/kernels/backend.hpp"
#include "sluice/profile/profile.hpp"
#include "sluice/profile/profile_cache.hpp"

namespace sluice::measure {

inline constexpr double kNoise = 0.1;
inline constexpr double kSmallShare = 0.01;  // of the step: that are not worth measuring, together
inline constexpr Seconds kUsualProfiling = 10;
inline constexpr Seconds kWithoutLimit = std::numeric_limits<Seconds>::infinity();

// Whether times that the cache knows are used, or measured again and replaced there: they may be of another moment.
enum class KnownTimes { kUse, kReplace };

// Called now and then: how much of the work is done, of how much.
using ProfileProgress = std::function<void(int done, int total)>;

struct Profiling {
  ProfileProgress on_progress = {};
  KnownTimes known = KnownTimes::kUse;
  Seconds most_seconds = kUsualProfiling;
  bool cold = false;  // cold times too
};

// The cache is saved when something was measured; if that fails, a warning is logged and the profile still returned.
// Times by placement that the cache knows are in the profile too; measure_placements() adds the others.
Result<profile::Profile> measure_profile(kernels::CompiledGraph& compiled, const memory::Machine& machine,
                                         profile::ProfileCache& cache, const Profiling& profiling = {});

}  // namespace sluice::measure
