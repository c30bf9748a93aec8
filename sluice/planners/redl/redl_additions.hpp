// The parts of this ReDL that are ours, in the order of redl_additions(). docs/planners/redl.md says what each
// replaces.
#pragma once

namespace sluice::planners {

enum class RedlAddition {
  kStretches,  // the placement decides by stretches of uses; off: one tier per tensor for the whole step
  kPrices,     // what is late or waits in the slow tier is moved where that is cheaper; off: where it comes in time
  kSearch,     // steps decide between periods; off: the first period that keeps the constraints
};

}  // namespace sluice::planners
