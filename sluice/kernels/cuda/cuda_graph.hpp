// A graph's kernels on the GPU. run() runs one op and waits for it, as every backend does; an executor that keeps the
// GPU busy calls begin_step() once a step and enqueue() for every op, and waits for nothing.
//
// Operands are addresses that the GPU can use: of device memory, or of host memory that share() has made known to it.
#pragma once

#include <memory>
#include <vector>

#include "sluice/kernels/backend.hpp"
#include "sluice/kernels/cuda/lowering.hpp"

namespace sluice::kernels::cuda {

class CudaGraph : public CompiledGraph {
 public:
  CudaGraph(std::shared_ptr<Context> context, LoweredGraph lowered);
  ~CudaGraph() override;

  const graph::Graph& graph() const override { return lowered_.graph; }
  Status run(graph::OpIndex op, std::span<void* const> operands, const StepContext& context) override;
  std::unique_ptr<CompiledGraph> rescheduled(const graph::Rescheduled& step) const override;
  void to_plain(graph::TensorId tensor, const void* stored, std::span<float> plain) override;
  void from_plain(graph::TensorId tensor, std::span<const float> plain, void* stored) override;
  Result<std::shared_ptr<void>> share(std::span<std::byte> host_memory) override;

  const Context& context() const { return *context_; }

  // Host work of a step: its input, filled into pinned memory, and its figures. Nothing of the step before may still
  // read them. Fills nothing where fetch() has.
  Status prepare_step(const StepContext& context);
  // Fills the input of a step ahead of prepare_step(): once the ops before have read theirs.
  Status fetch(const StepContext& context);
  // What fetch() has filled is not to be used: its source may be gone, and another one at its address.
  void forget_fetched() { fetched_from_ = nullptr; }
  // Puts the figures' copy on the stream. Throws gpu::CudaFailure.
  void begin_step() const { context_->send_step(); }
  // Puts the op on the stream. Throws gpu::CudaFailure.
  void enqueue(graph::OpIndex op, std::span<void* const> operands) const;

 private:
  struct Staging {  // of one output of the input op
    std::byte* data = nullptr;
    std::size_t bytes = 0;
  };

  Status fill_input(const StepContext& context);
  Status make_staging();
  const graph::Op* input_op() const;

  std::shared_ptr<Context> context_;
  LoweredGraph lowered_;
  std::vector<Staging> staging_;
  std::int64_t fetched_step_ = -1;
  const InputSource* fetched_from_ = nullptr;
};

}  // namespace sluice::kernels::cuda
