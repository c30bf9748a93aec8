// Prices of fast memory and of a link over a step: what proves that no plan can be faster than so many seconds
// (plan/verify/certificate.hpp).
//
// A step has a *run slot* for each op and a *stall slot* before each and behind the last. In a slot of d seconds the
// link carries what obeys both of its facets:
//
//   in[f] x bytes in + out[f] x bytes out <= d        f = 0, 1
//
// The first facet's first figure is the time of a byte in by itself, the second one's second that of a byte out. What
// is between depends on how much the two directions slow each other down (Link::shared_bandwidth).
//
// Where ops use operands in place in slow memory, a run slot is longer than its op in fast memory:
//
//   d = max(op, sum of reading) + sum of added         over the operands used in place (profile/memory_time.hpp)
//
// Reading hides behind the op until it is longer than that: its price says how far it is from there.
#pragma once

#include <array>
#include <vector>

#include "sluice/base/units.hpp"

namespace sluice::plan {

struct TwoWayLink {
  std::array<double, 2> in{};   // seconds a byte, by facet
  std::array<double, 2> out{};  // likewise
  double in_lost = 0;           // compute time that a byte costs the op beside which it moves
  double out_lost = 0;
};

// What an op's use of an operand in slow memory takes, of the whole operand; infinity: the op cannot use it there.
struct UseInPlace {
  Seconds reading = 0;  // beside the op
  Seconds added = 0;    // to it
};

// What a second of a slot is worth by facet; all are 0 or more, and the two of a slot together 1 at most.
using SlotPrice = std::array<double, 2>;

struct StepPrices {
  std::vector<double> room;      // by op: seconds a byte of fast memory is worth while the op runs; 0 or more
  std::vector<SlotPrice> run;    // by op
  std::vector<SlotPrice> stall;  // by op before which it is; the last: behind the last op
  // By op, of a second of reading in place: at most what the slot's prices leave of 1. Empty: nothing.
  std::vector<double> reading = {};
  bool operator==(const StepPrices&) const = default;
};

}  // namespace sluice::plan
