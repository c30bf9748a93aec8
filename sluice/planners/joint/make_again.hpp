// What is worth making again instead of keeping or fetching it, by prices of memory and links.
//
// Between two uses of a tensor its bytes pay rent, or for the way to slow memory and back (plan/verify/payments.hpp).
// Made again directly before the second use, they pay neither. What that costs: the time of the ops that made them, and
// that these find their operands there, which wait longer, are fetched once more, or are made again themselves.
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

namespace sluice {

struct PricedSchedule {
  std::vector<OpIndex> schedule;  // of request.graph
  CertifiedBound bound;           // of that step
};

// The step of `request` in its own order, and then with what pays made again, where that lowers the bound. Nothing where
// the machine has no prices.
std::vector<PricedSchedule> make_again(const PlanRequest& request);

}  // namespace sluice
