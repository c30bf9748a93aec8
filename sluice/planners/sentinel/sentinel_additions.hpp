// The parts of this Sentinel that are ours, in the order of sentinel_additions(). docs/planners/sentinel.md says what
// each replaces.
#pragma once

namespace sluice::planners {

enum class SentinelAddition {
  kChoice,   // simulated steps choose between interval lengths and orders; off: equations 1 and 2 alone
  kStaying,  // what fits stays in fast memory; off: what is not needed in this interval or the next leaves
  kInPlace,  // prefetches dearer than use in place are not made; off: only late ones are left out, by trial
  kAhead,    // prefetches begin as early as the clock asks for; off: at the earliest an interval ahead
  kPrices,   // of several slow tiers a tensor leaves for the one whose lanes cost it least; off: the nearest with room
  kLending,  // room for short-lived tensors is reserved while they live; off: from the interval's start, as a pool
  kEncode,   // what the profile shows to be worth it moves in fewer bytes; off: everything moves as it is
};

}  // namespace sluice::planners
