// The slow tiers that planners may use: those with links both ways between them and the fast tier, nearest first.
#pragma once

#include <vector>

#include "sluice/planners/planner.hpp"

namespace sluice::planners {

struct SlowTier {
  memory::TierId id = 1;
  memory::LinkId outward = 0;  // fast to slow
  memory::LinkId inward = 0;
};

// kBadInput when the machine has no second tier, or one without links to and from the fast tier.
Result<std::vector<SlowTier>> find_slow_tiers(std::string_view planner, const memory::Machine& machine);

// The same, for planners that leave operands in slow tiers: those that ops can address. kUnsupported when they can
// address none.
Result<std::vector<SlowTier>> find_addressable_slow_tiers(std::string_view planner, const memory::Machine& machine);

}  // namespace sluice::planners
