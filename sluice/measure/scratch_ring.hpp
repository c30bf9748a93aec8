// Scratch memory in which the ops of a step can be run one after another for measuring, in far less room than the step
// needs, with caches about as warm as in a real step.
//
// Tensors are placed one behind the other in a ring. A tensor keeps its place until the ring comes round to it. So an
// op finds what the ops just before it wrote, in the same place, perhaps still in a cache. What was written long before
// comes from a place that was last touched a whole ring ago, and so from memory. The ring is a few times larger than
// the caches, or as large as the largest op: going round it once makes them cold.
//
// Contents: at first normal floats, and zeros in integer tensors. Ops leave there the floats that they compute. These
// soon mean nothing, so whoever times ops must keep denormals from slowing them. Integers become zeros again after each
// op, since a meaningless index would point anywhere.
#pragma once

#include <span>
#include <vector>

#include "sluice/graph/graph.hpp"
#include "sluice/memory/arena.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::measure {

class ScratchRing {
 public:
  static constexpr Bytes kThreeCaches = 96 * kMiB;  // of a last-level cache of 32 MiB

  // `threads` fill the memory. kOutOfSpace when the ring cannot be mapped. `graph` must outlive the ring.
  static Result<ScratchRing> make(const graph::Graph& graph, int threads, Bytes smallest_ring = kThreeCaches);
  // In a GPU's memory.
  static Result<ScratchRing> make_on_gpu(const graph::Graph& graph, Bytes smallest_ring);

  // Moves the memory to the tier's node and binds it there; nothing to do for a tier that is no memory node.
  Status lie_in(const memory::Tier& tier) const;

  // Pointers to the operands of `op`, inputs then outputs, disjoint but for operands that are the same tensor.
  std::vector<void*> place(const graph::Op& op);

  // The same where nobody has been for a whole ring: no operand is in a cache.
  std::vector<void*> place_anew(const graph::Op& op);

  // Puts zeros back into the integer tensors that `op` has written at `operands`.
  void clear_integers(const graph::Op& op, std::span<void* const> operands) const;

  Bytes bytes() const { return arena_.bytes(); }

 private:
  ScratchRing(const graph::Graph& graph, memory::Arena arena, bool on_gpu);
  static void let_updates_run(const graph::Op& op, std::span<void* const> operands);
  void place_tensor(graph::TensorId tensor);
  void clear(void* memory, Bytes bytes) const;
  void clear_past_caches(void* memory, Bytes bytes) const;

  const graph::Graph* graph_;
  memory::Arena arena_;
  bool on_gpu_;
  Bytes cursor_ = 0;             // counts on over all rounds
  std::vector<Bytes> position_;  // by TensorId: cursor when it was last placed, or kNowhere
};

}  // namespace sluice::measure
