// A proof that no plan of a step can take less than so many seconds, from prices alone.
//
// Let every tensor pay for the fast memory that it takes, by op, and for the link when it moves, by slot. Whatever a
// plan does, its step takes at least
//
//   sum over ops of (1 - what the run slot's seconds are worth) x compute seconds
//   - budget x sum of the room's prices
//   + sum over tensors of the least that any life of the tensor pays
//
// because at prices of 0 or more the payments are at most what the budget and the links are worth (Lagrangian duality).
// This holds for any prices: good ones make a good bound, wrong ones a poor one, never a false one. Each byte of a
// tensor may live a life of its own, so a tensor's least is its bytes times that of one byte.
//
// The life of a byte, from use to use: it stays, or goes and comes back before the next use. What goes was written to
// slow memory since it last changed, in some slot. A parameter begins and ends the step in the same memory, fast or
// slow. It takes room at the beginning of each op before which it has not left or has come: while an op runs, one
// tensor may come to where another leaves.
//
// Where an op may use it in slow memory, it takes no room at that op and pays for the time instead (prices.hpp): for
// what is added to the op, and at the price of reading for what hides behind it, of which the sum above begins with what
// the op hides, -price x op. What is written there is there alone. It may come to fast memory while an op reads it in
// slow memory, and leave no later than before the op that finds it there.
//
// Over: every placement and movement of whole tensors or parts between the fast tier and one slow tier, or several as if
// they were one, in the graph's order of ops on one processor. No fragmentation, pages, latency. Read together with the
// simulator's rules (sim/simulator.hpp): these are the ones that a step is held against. O(ops x tensors).
#pragma once

#include <span>

#include "sluice/base/result.hpp"
#include "sluice/graph/graph.hpp"
#include "sluice/plan/plan.hpp"

namespace sluice::plan {

struct BoundedStep {
  const graph::Graph& graph;
  std::span<const Seconds> op_seconds;  // with all operands in the fast tier
  TwoWayLink link;
  Bytes fast = 0;                            // the budget
  std::span<const double> moved_share = {};  // by tensor: of its bytes, what the link moves; empty: all
  // By tensor and use (graph/liveness.hpp): at least so much for each of an op's operands in slow memory, whichever else
  // are there. Empty: ops use none in place.
  std::span<const std::vector<UseInPlace>> in_place = {};
};

// Prices that are not of this step, or not as prices.hpp says, prove nothing: kBadInput.
Result<Seconds> certified_seconds(const BoundedStep& step, const StepPrices& prices);

}  // namespace sluice::plan
