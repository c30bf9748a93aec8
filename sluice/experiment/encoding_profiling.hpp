// From a workload and a machine to what encoding its tensors would do (Profile::encodings): the bytes of each tensor in
// real training steps, and the speed of the encoder.
//
// The steps run under a plan that needs no more fast memory than there is: on-demand inside the budget, everything in
// fast memory where no budget is given. How many zeros a tensor has changes as a network learns, most of all in the
// first steps; so the last of kEncodingSteps steps counts. They are steps of the session's data and seed; nothing is
// kept of what they learn. Remembered in the profile cache by graph; older caches have none, and then it is measured.
#pragma once

#include "sluice/profile/profile_cache.hpp"
#include "sluice/train/planning/planning.hpp"
#include "sluice/train/session.hpp"
#include "sluice/train/workload/workload.hpp"

namespace sluice::experiment {

inline constexpr int kEncodingSteps = 3;

// Adds Profile::encodings where it has none. `cache` must be of this machine. Errors: whatever stops a plan or a step.
// A cache that cannot be written costs the measurement again next time.
Status add_encodings(const train::Workload& workload, const memory::Machine& machine, const train::FastBudget& fast,
                     const train::SessionOptions& session, profile::ProfileCache& cache, profile::Profile& profile);

}  // namespace sluice::experiment
