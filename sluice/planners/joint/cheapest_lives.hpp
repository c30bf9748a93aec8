// Which uses find their unit in slow memory, by prices of memory and links.
//
// From use to use a unit stays in the fast tier, goes and comes back, or is used where it lies in slow memory, which
// costs the ops some time and no room (plan/verify/payments.hpp). Its cheapest life is found stretch by stretch: uses
// with no gap between them find it in one place. A parameter ends the step in the memory where it began it.
#pragma once

#include <set>
#include <span>
#include <vector>

#include "sluice/graph/liveness.hpp"
#include "sluice/plan/verify/payments.hpp"
#include "sluice/planners/schedule/gaps.hpp"

namespace sluice::planners {

// A gap whose prefetch may be left out, or be made.
struct InPlaceChoice {
  PrefetchKey key;
  bool slow = false;  // in the cheapest life
  double regret = 0;  // seconds that the cheapest life with the other choice pays more
};

// Of all gaps that have a choice, the clearest last. `in_place`: by tensor and use; `usable`: tiers that ops address.
// What use in place costs is counted `in_place_weight` times. O(gaps^2) within a unit.
std::vector<InPlaceChoice> cheapest_lives(std::span<const MovingUnit> units, const std::vector<Gap>& gaps,
                                          const graph::Liveness& liveness,
                                          std::span<const std::vector<plan::UseInPlace>> in_place,
                                          const plan::Payments& payments, const std::set<memory::TierId>& usable,
                                          graph::OpIndex op_count, double in_place_weight);

}  // namespace sluice::planners
