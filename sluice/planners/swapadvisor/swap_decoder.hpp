// What follows from an order of the ops and from classes of sizes: which tensors leave, when each comes back, and what
// the step then takes. Every tensor may leave, parameters too.
//
//   1. Who leaves (schedule/paged_step.hpp). An op that lacks room has the tensors leave that are needed again last,
//      of the class of the one that comes while there is any, else of all.
//   2. When (a clock of compute and one for each way of the link). A tensor leaves when it was used last, and its room
//      is free when the copy is done. What comes back does so as early as memory allows: not before what is needed
//      before it, and only into room that nobody lacks until then. One for which there was room all the time stays.
//
//   op       0 a      1 b      2 c      3 d      4 a
//   a        used     leaves   gone     comes    used          its room from 2 on; it comes when there is room again
//
// Where an op is early, it waits: for what it misses, and for room until copies are done. Times are those of op and
// link alone, and of the nearest slow tier; what copies cost compute is left to the simulator, which has the last
// word.
//
// Cost: about as many steps as the ops have operands, times log(tensors). Threads: decode() may be called at once.
#pragma once

#include <optional>

#include "sluice/planners/schedule/paged_step.hpp"
#include "sluice/planners/schedule/slow_tier.hpp"

namespace sluice::planners {

struct DecodedSwaps {
  IdVector<graph::TensorId, TensorSchedule> schedules;  // by slot of the order
  Seconds seconds = 0;                                  // of the step
};

class SwapDecoder {
 public:
  // What the request refers to must outlive this object.
  SwapDecoder(const PlanRequest& request, const SlowTier& slow);

  std::size_t size_count() const { return sizes_.size(); }  // distinct ones

  // Nothing where some op's operands, with what may not leave, exceed the capacity. `order`: each op once, and a valid
  // one (op_order.hpp). `begins`: by size, as in SwapGenes.
  std::optional<DecodedSwaps> decode(std::span<const graph::OpIndex> order, std::span<const char> begins,
                                     Bytes capacity) const;

  // Of all ops, one after the other: no step takes less.
  Seconds compute_seconds() const { return compute_seconds_; }

 private:
  graph::Liveness liveness_in(std::span<const graph::OpIndex> order) const;
  IdVector<graph::TensorId, int> classes_of(std::span<const char> begins) const;

  const graph::Graph& graph_;
  graph::Liveness liveness_;  // in the graph's order
  IdVector<graph::OpIndex, std::vector<graph::TensorId>> operands_;
  IdVector<graph::OpIndex, Seconds> op_seconds_;
  IdVector<graph::TensorId, Seconds> out_seconds_, in_seconds_;
  std::vector<Bytes> sizes_;                        // distinct, ascending
  IdVector<graph::TensorId, std::size_t> size_of_;  // index into sizes_
  Seconds compute_seconds_ = 0;
};

}  // namespace sluice::planners
