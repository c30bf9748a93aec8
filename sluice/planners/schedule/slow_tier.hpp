// Which tier the planners of this folder spill to: the one next to the fast tier.
#pragma once

#include "sluice/planners/planner.hpp"

namespace sluice {

struct SlowTier {
  TierId id = 1;
  LinkId outward = 0;  // fast to slow
  LinkId inward = 0;
};

// kBadInput when the machine has no second tier, or no links to and from it.
Result<SlowTier> find_slow_tier(std::string_view planner, const Machine& machine);

// The same, for planners that leave operands in the slow tier: kUnsupported when ops may not address it.
Result<SlowTier> find_addressable_slow_tier(std::string_view planner, const Machine& machine);

}  // namespace sluice
