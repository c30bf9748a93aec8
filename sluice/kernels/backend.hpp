// Backends turn a logical graph into kernels. A backend lowers (layouts, reorders, workspaces, in-place pairs), then
// runs single ops on pointers it is given; it owns no tensor memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/graph/graph.hpp"
#include "sluice/graph/reschedule.hpp"
#include "sluice/kernels/ranks.hpp"

namespace sluice::kernels {

// Where a step's input op gets its data. Called on the compute lane, once a batch.
class InputSource {
 public:
  virtual ~InputSource() = default;
  // Fills the input op's outputs, in its order: row-major fp32 or i32 by their Tensor::content, which the source was
  // told when it was opened. Must depend on `batch` alone, so that runs can be repeated.
  virtual Status fill(std::int64_t batch, std::span<const std::span<std::byte>> tensors) = 0;
};

// Which of all batches an input op gives in a step: steps take one, or as many as the op says (op.hpp).
constexpr std::int64_t batch_of(const graph::InputAttributes& input, std::int64_t step) {
  return input.batches == 0 ? step : step * input.batches + input.batch;
}

struct StepContext {
  std::int64_t step = 0;
  double learning_rate = 0;
  InputSource* input = nullptr;
  Ranks* ranks = nullptr;  // nullptr: one, or an op is tried alone, and others' parts are taken to be like its own
  std::uint64_t seed = 0;  // of dropout: with the op's stream, the step and the element it fixes each draw
};

// Of an update.
double learning_rate_of(const graph::UpdateAttributes& update, const StepContext& context);

// The random numbers of a dropout: a rank's batch follows that of the rank before.
std::uint64_t stream_of_dropout(const graph::DropoutAttributes& dropout, const StepContext& context);

// An executable graph with its kernels. Thread safety: one caller at a time for each processor that ops run on.
class CompiledGraph {
 public:
  virtual ~CompiledGraph() = default;

  virtual const graph::Graph& graph() const = 0;  // the executable graph

  // Runs one op. `operands` are inputs then outputs in the op's order; pointers are aligned to 64 bytes, equal where
  // the op names the same tensor twice. Results depend only on operand bytes, the context and the op's implementation
  // and processor, which stands for a number of threads.
  virtual Status run(graph::OpIndex op, std::span<void* const> operands, const StepContext& context) = 0;

  // The kernels of this graph for its ops in another order, by other implementations and on other processors (as
  // graph/reschedule.hpp and choose.hpp make `step`); the op of slot k is step.graph.op(k). Needs this object no
  // longer.
  virtual std::unique_ptr<CompiledGraph> rescheduled(const graph::Rescheduled& step) const;

  // Converts between a tensor's executable layout and row-major fp32 (checkpoints, initial values, hashes). Exact.
  virtual void to_plain(graph::TensorId tensor, const void* stored, std::span<float> plain) = 0;
  virtual void from_plain(graph::TensorId tensor, std::span<const float> plain, void* stored) = 0;

  // Lets the kernels use host memory in place, as long as what is returned lives. kOutOfSpace where it cannot be pinned.
  virtual Result<std::shared_ptr<void>> share(std::span<std::byte> /*host_memory*/) { return std::shared_ptr<void>(); }
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  // `threads` by processor. The graph's ops are the main one's; the others run them where a plan says so.
  virtual Result<std::unique_ptr<CompiledGraph>> compile(const graph::Graph& logical,
                                                         const std::vector<int>& threads) = 0;
  Result<std::unique_ptr<CompiledGraph>> compile(const graph::Graph& logical, int threads) {
    return compile(logical, std::vector{threads});
  }

  // Whether this backend has a kernel for an op of a graph that another one has lowered, with the operands as they lie.
  virtual bool takes_over(const graph::Graph& /*executable*/, const graph::Op& /*op*/) const { return false; }
  // Kernels for the ops of such a graph that it takes over; nullptr where that is none of any graph.
  virtual std::unique_ptr<CompiledGraph> kernels_for(const graph::Graph& /*executable*/, int /*threads*/) {
    return nullptr;
  }
};

}  // namespace sluice::kernels
