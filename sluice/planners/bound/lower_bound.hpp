// A lower bound on the step time: no plan that runs the same ops in the same order can beat it.
//
// Take any op k, and let C be the fast budget. A_k bytes of activations live across k. Those that are not in the fast
// tier at that moment were made there, so they went out before k; and they will be read there, so they come back after
// k. P_k bytes of persistent tensors are used from k on. Those that are not in the fast tier at k come in after k. At
// most C bytes are in the fast tier at k, so
//
//   step >= max(compute before k, (A_k - C)/BW_out) + max(compute from k on, (A_k + P_k - C)/BW_in)
//
// Where tensors may move in fewer bytes, A_k counts as few of each: what went out of it is at least that, and what is in
// the fast tier takes at least as much of C. The bound is then lower.
//
// The step is also never shorter than the compute time alone, of the processor that has most of it. Where ops may
// address the slow tier or run on several processors, and on machines of more than two tiers or without links both
// ways, only this second bound is used. Commands raise it to the certified bound (planners/bound), which covers all of
// these but several processors. Links count at their full bandwidth: while they share a disk they are only
// slower.
//
// A plan that runs ops in another order, or again, has a bound of its own: that of its schedule's graph.
#pragma once

#include <span>

#include "sluice/profile/cost_model.hpp"

namespace sluice::planners {

// `costs` are those of `graph` on `machine`; budgets by TierId. `may_shrink`: non-persistent tensors
// may move in fewer bytes (CostModel::moved_bytes).
Seconds step_lower_bound(const graph::Graph& graph, const profile::CostModel& costs, const memory::Machine& machine,
                         std::span<const Bytes> budgets, bool may_shrink = false);

}  // namespace sluice::planners
