// What a plan's step takes when ops and links are not as they were measured: simulated with seeded variations of them.
//
// A plan that is the fastest by the figures may be one that waits as soon as a transfer comes late. All factors are
// log-normal, with a median of 1. The usual ones are of repeated measurements on two shared cores with a local disk: the
// same op from step to step 0.07 to 0.13, all ops of a step together 0.004 to 0.03, a link 0.02 to 0.21.
#pragma once

#include <cstdint>

#include "sluice/base/result.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/plan/plan.hpp"
#include "sluice/profile/profile.hpp"
#include "sluice/sim/drift.hpp"

namespace sluice::sim {

// Standard deviations of the logarithms of times.
struct Noise {
  double op = 0.10;       // of each op by itself
  double compute = 0.02;  // of all ops together
  double link = 0.12;     // of each link's latency and bandwidths
  int samples = 40;
  std::uint64_t seed = 1;
};

struct NoisyStep {
  Seconds median = 0;
  Seconds percentile_90 = 0;  // nine of ten steps take at most this
};

// `plan` is a planner's, of `graph`. Deterministic: the same seed disturbs each op of `graph` and each link alike whatever
// the plan, so that plans can be compared (common random numbers). A sample of a step of 2,000 ops takes 2 ms or so.
// Errors: those of lower_plan().
Result<NoisyStep> predict_under_noise(const graph::Graph& graph, const memory::Machine& machine,
                                      const profile::Profile& profile, const plan::Plan& plan, const Noise& noise = {});

// Of one sample, for so many ops and links.
Drift drawn_drift(const Noise& noise, int sample, std::size_t ops, std::size_t links);

}  // namespace sluice::sim
