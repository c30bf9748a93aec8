// Runs single ops of a step in scratch memory and says how long each took.
//
// Operands lie in a scratch ring (scratch_ring.hpp), or in a second one like it that stands for a slow tier's arena.
// For an emulated tier the second ring is elsewhere in DRAM, and the time that the executor waits for such a tier is
// not in the times. Denormals are flushed on the compute threads as long as a timer lives, because values mean nothing
// here. The input op is run with a source of zeros. One caller at a time, on the compute thread.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sluice/kernels/backend.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::measure {

inline constexpr graph::OpIndex kOpsBefore = 2;  // run before a timed op, so that it finds the caches as in a step

class OpTimer {
 public:
  // `rings` 2: with memory for put_in_slow(); each of them at least as large as `smallest_ring` and as
  // ScratchRing::kThreeCaches. kOutOfSpace when a ring cannot be mapped. `compiled` must outlive it. Kernels of a GPU are
  // timed there (measure/gpu_op_timer.hpp), with one ring.
  static Result<std::unique_ptr<OpTimer>> make(kernels::CompiledGraph& compiled, int threads, int rings = 1,
                                               Bytes smallest_ring = 0);
  OpTimer() = default;
  virtual ~OpTimer() = default;
  OpTimer(const OpTimer&) = delete;
  OpTimer& operator=(const OpTimer&) = delete;

  // From here on the rings lie where these tiers do: on their memory nodes, if that is what they are. kOutOfSpace when
  // a node has no room for a ring.
  virtual Status lie_in(const memory::Tier& fast, const memory::Tier& slow) = 0;

  // From here on these tensors, and only these, lie in the slow ring.
  virtual void put_in_slow(std::vector<graph::TensorId> tensors) = 0;

  // Seconds of the op. An op's error names the op.
  virtual Result<Seconds> run(graph::OpIndex op) = 0;
  // The same with no byte of any operand in a cache.
  virtual Result<Seconds> run_cold(graph::OpIndex op) = 0;
  // `op` behind the ops that precede it in the step: warm.
  Result<Seconds> run_behind_others(graph::OpIndex op);
};

// Fills a step's input with zeros.
std::unique_ptr<kernels::InputSource> make_zero_input();

}  // namespace sluice::measure
