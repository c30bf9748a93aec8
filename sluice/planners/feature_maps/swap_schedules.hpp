// When feature maps that are swapped leave and come back (HOME's algorithm 2 as a plan).
//
//   ops        0  1  2  3  4  5  6  7  8  9        a layer: two ops
//   a             w  r              |        r     the backward pass begins at 6
//   its room      [-----tail)          [win--)     it leaves behind op 2; comes from the layer before the reader's on
//
// A tail lasts until the way out, which carries one tensor after the other, should be done with it by the clock; one
// that lasts until the reader means that the tensor stays. While ops find no room, the tensors that left first are waited
// for first (the front of HOME's swap-out list). Where that is not enough, what comes back comes later.
// O(ops x tensors swapped) at worst.
#pragma once

#include <optional>
#include <vector>

#include "sluice/planners/feature_maps/feature_maps.hpp"
#include "sluice/planners/schedule/slow_tier.hpp"
#include "sluice/planners/schedule/tensor_schedule.hpp"
#include "sluice/profile/cost_model.hpp"

namespace sluice::planners {

struct SwappedTensor {
  graph::TensorId id = 0;
  Seconds ahead = 0;  // of the beginning of the layer before its reader's, by the clock
};

class SwapSchedules {
 public:
  // `step`: its ops run as often as they are to. Both must outlive this object.
  SwapSchedules(const PlanRequest& step, const graph::Liveness& liveness, const SlowTier& slow,
                const std::vector<SwappedTensor>& tensors, SwapPace pace);

  // By tensor; one that would be back before it is gone stays. Nothing where the ops' operands, with what is kept, do
  // not fit.
  std::optional<std::vector<TensorSchedule>> within(Bytes capacity) const;

 private:
  struct Swap {
    std::size_t index = 0;  // of the tensor
    Bytes bytes = 0;
    FastPiece leaves, comes;
    graph::OpIndex earliest = 0;  // that it may come back
  };

  void find_swaps(const std::vector<SwappedTensor>& tensors);
  Swap swap_of(const SwappedTensor& tensor);
  graph::OpIndex in_trigger(graph::OpIndex layer_before, Seconds ahead) const;
  graph::OpIndex end_by_clock(graph::TensorId id, graph::OpIndex last);
  void add_loads(const std::vector<SwappedTensor>& tensors);

  const graph::Graph& graph_;
  const graph::Liveness& liveness_;
  profile::CostModel costs_;
  SlowTier slow_;
  SwapPace pace_;
  graph::OpIndex turn_;               // the first op that is none of the forward pass
  std::vector<Seconds> ends_;         // by op: when it ends, if nothing waits
  Seconds out_until_ = 0;             // when the way out is free
  std::vector<Swap> swaps_;           // in the order in which they leave
  std::vector<TensorSchedule> stay_;  // by tensor: what it is where it is not swapped after all
  std::vector<Bytes> kept_;           // by op: of all that does not move
};

}  // namespace sluice::planners
