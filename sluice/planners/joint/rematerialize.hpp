// What is worth making again instead of keeping or fetching it, and what is worth keeping instead of making it again as
// the graph does, by prices of memory and links (savings.hpp).
//
//   schedule       0 conv > a   1 relu a > b   ...   7 relu' b > c   8 conv' a, c
//   with b again   0 conv > a   1 relu a > b   ...   1 relu a > b    7 relu' b > c   8 conv' a, c
//
// Prices are marginal, so a round takes only a part of what pays, and then prices are sought anew. A round that does not
// lower the bound on the step's time is taken back.
#pragma once

#include <vector>

#include "sluice/planners/bound/certified_bound.hpp"
#include "sluice/planners/planner.hpp"

namespace sluice::planners {

struct PricedSchedule {
  std::vector<graph::OpIndex> schedule;  // of request.graph
  CertifiedBound bound;                  // of that step
};

// The step of `request` in its own order; where that lowers the bound, with what pays made again; and where that lowers
// it further, without what does not pay to be made again. Nothing where the machine has no prices.
std::vector<PricedSchedule> rematerialize(const PlanRequest& request);

}  // namespace sluice::planners
