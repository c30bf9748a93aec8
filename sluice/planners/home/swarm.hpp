// HOME's particle swarm (sections 3.3 and 3.5, algorithms 1 and 3): policies that learn, tensor by tensor, from the best
// policy of the last iteration and from the best that each of them has been.
//
//   for each iteration                                     algorithm 1
//     evaluate every particle; keep the best ever
//     for each particle, for each tensor j                 algorithm 3
//       P1 = best of this iteration, P2 = the particle's best ever
//       the particle's action j becomes P1[j] or P2[j], whichever makes the particle as it is then take less time
//
// Where P1[j] and P2[j] are one action there is nothing to evaluate, nor where it is known what the particle takes as it
// is: such evaluations are counted as skipped. The search ends when an iteration has changed nothing, since then no further
// one does, or when none has found a better policy for a while (the paper always runs all).
//
// Reproducible: particles are drawn from a seed, and each is updated by itself, whatever the number of threads.
// Cost: iterations x particles x 2 maps evaluations at most.
#pragma once

#include <functional>

#include "sluice/planners/home/evaluator.hpp"
#include "sluice/planners/search_rounds.hpp"

namespace sluice::planners {

struct SwarmOptions {
  int particles = 500;
  int iterations = 500;
  int patience = 30;  // iterations without a better policy after which it ends; 0: all are run
  int threads = 1;
  std::uint64_t seed = 0;
};

struct SwarmResult {
  Policy best;
  PolicyCost cost;
  std::vector<SearchRound> iterations;  // figure 8
  std::int64_t evaluations = 0;
  std::int64_t skipped = 0;
  bool stopped = false;
};

// `stop`: asked once a particle; the best so far is the answer then. `done`: how much is done, from 0 to 1, and the best.
SwarmResult search_by_swarm(const PolicyEvaluator& evaluator, const std::vector<FeatureMap>& maps,
                            const SwarmOptions& options, const std::function<bool()>& stop,
                            const std::function<void(double done, const PolicyCost& best)>& progress);

}  // namespace sluice::planners
