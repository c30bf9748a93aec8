// When a tensor is in the fast tier, and what that means in residencies and migrations.
//
// Planners that move tensors decide only this: the pieces of a step over which each tensor has room in the fast tier.
// Everything else follows from the graph and is done once, here: which pieces begin with a prefetch and which with a
// definition, which evictions must write (a copy left in the slow tier stays valid until the tensor is written,
// AutoTM section 3.6), how long the slow copy is kept, and how the step's end closes the cycle. Uses outside all pieces
// find the tensor in the slow tier, which ops must then be able to address.
//
//   ops           0  1  2  3  4  5  6  7  8
//   uses             w  r                 r
//   pieces           [first------)   [----second)    ops = {1,5}, uses 1..2, evict_after 2; ops = {6,9}, use 8
//   migrations             out 2->5  in 5->8         tail: 3,4; window: 6,7
#pragma once

#include <span>
#include <vector>

#include "sluice/graph/liveness.hpp"
#include "sluice/plan/plan_builder.hpp"

namespace sluice::planners {

struct FastPiece {
  Interval<graph::OpIndex> ops;  // room in the fast tier: prefetch window, uses, eviction tail
  graph::OpIndex first_use = 0;
  graph::OpIndex last_use = 0;
  graph::OpIndex evict_after = 0;  // where the eviction is issued: last_use (at once) or later, before ops.end
  graph::OpIndex here_by = 0;      // the op that waits for the prefetch; 0: the first use
  plan::Cause comes = plan::Cause::kUnsaid;
  plan::Cause leaves = plan::Cause::kUnsaid;
};

struct TensorSchedule {
  bool fast_at_start = false;     // persistent tensors: in the fast tier between steps
  std::vector<FastPiece> pieces;  // ascending, disjoint; fast_at_start: the last one reaches to the step's end
};

// What a schedule takes of the slow tier.
struct SlowDemand {
  std::vector<Interval<graph::OpIndex>> ranges;  // over which a copy has room there
  std::vector<graph::OpIndex> evicted_after;     // by eviction that writes: the op
  std::vector<graph::OpIndex> prefetched_for;    // by prefetch: the op that needs it
};
SlowDemand slow_demand(const std::vector<graph::Use>& uses, const TensorSchedule& schedule, bool persistent,
                       graph::OpIndex op_count);

// Adds the tensor's residencies and migrations between the fast tier and `slow`.
void add_tensor_schedule(plan::PlanBuilder& builder, const graph::Graph& graph, const graph::Liveness& liveness,
                         graph::TensorId tensor, memory::TierId slow, const TensorSchedule& schedule);

// The same for small tensors with one life: they lie in blocks (plan.hpp) and each transfer moves all of them. `uses`:
// the ops that use any of them, one entry per op. Every migration of the schedule must find all of them made.
void add_block_schedule(plan::PlanBuilder& builder, const graph::Graph& graph, const std::vector<graph::Use>& uses,
                        std::span<const graph::TensorId> tensors, memory::TierId slow, const TensorSchedule& schedule);

// A schedule that keeps the tensor in the fast tier over its whole live range.
TensorSchedule always_fast(const graph::Liveness& liveness, graph::TensorId tensor, bool persistent);
TensorSchedule fast_over(Interval<graph::OpIndex> range, bool persistent);

}  // namespace sluice::planners
