// A proof that no plan of a step can take less than so many seconds, whatever its order of ops, and whatever it runs
// again or leaves out because it only makes again (any_order.hpp).
//
// As certificate.hpp, with epochs in place of ops: every byte pays for the room that it takes when an epoch begins, for
// the link in the epoch in which it moves, and for the time of what makes it again. Compute time pays what it is worth
// where it runs. Whatever a plan does, its step takes at least
//
//   sum over chain ops of (1 - what their epoch's seconds are worth) x seconds
//   + sum over ops that float of the least of that in an epoch where they may run
//   - budget x sum of the room's prices
//   + sum over lives of the least that a byte pays, from use to use of chain ops
//
// The least over what may be chosen freely is below what any plan chooses, so this holds for any prices. What is left
// out makes it lower, never false: where ops that float put their operands, that what is made again needs operands,
// fragmentation, latency, scratch memory of ops that float.
//
// Prices are those of prices.hpp by epoch: room[e] when epoch e begins, run[e] and stall[e + 1] while it lasts.
#pragma once

#include "sluice/plan/verify/any_order.hpp"
#include "sluice/plan/verify/certificate.hpp"

namespace sluice::plan {

// `order`: of step.graph and step.op_seconds. Prices that are not of this step, or not as prices.hpp says, prove
// nothing: kBadInput. O(epochs x lives).
Result<Seconds> certified_any_order_seconds(const BoundedStep& step, const AnyOrder& order, const StepPrices& prices);

}  // namespace sluice::plan
