// Which prefetches are better left out, so that ops use the tensor where it lies in an addressable slow tier.
//
//   - Case 3 of the paper (§IV-D): the prefetch is late, and the interval waits for it. Whether to wait or to leave the
//     tensor is found out by trial (test_and_trial.hpp).
//   - Ours: the copy costs more than it saves. Moving bytes takes compute time, if the copying thread shares the cores
//     or the memory with the ops, and it takes time of the lane; a single read in place may cost less than the two
//     together.
#pragma once

#include "sluice/planners/sentinel/candidate.hpp"

namespace sluice::planners {

// A prefetch that costs more than it saves at the uses it is made for: those until the unit leaves again.
struct DearPrefetch {
  std::vector<PrefetchKey> keys;  // to leave out: its own, and those of the gaps that the unit would stay over
  Seconds gain = 0;
};

// Finds such prefetches of the candidate by the cost model. The price of a busy lane's time comes from the candidate's
// simulated stalls. The prefetches with the largest gain come first.
std::vector<DearPrefetch> prefetches_dearer_than_use(const CandidateBuilder& builder, const Candidate& candidate);

// An occurrence of case 3: an interval that had to wait for prefetches, and which prefetches those were.
struct LateInterval {
  int interval = 0;
  Seconds waited = 0;
  std::vector<PrefetchKey> late;
};

// The intervals that waited longest come first. `stalls` by OpIndex, simulated or measured; waits of less than a
// thousandth of `step` are noise.
std::vector<LateInterval> late_intervals(const CandidateBuilder& builder, const Candidate& candidate,
                                         const std::vector<Seconds>& stalls, Seconds step);

}  // namespace sluice::planners
