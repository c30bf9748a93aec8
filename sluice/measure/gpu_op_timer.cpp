#include "sluice/measure/gpu_op_timer.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/gpu/gpu_memory.hpp"
#include "sluice/gpu/stream_delay.hpp"
#include "sluice/kernels/cuda/cuda_graph.hpp"
#include "sluice/measure/scratch_ring.hpp"

namespace sluice::measure {
namespace {

using gpu::check;

constexpr Seconds kLaunchTime = 150e-6;  // the host needs less to put an op on the stream
constexpr Seconds kClocksRise = 0.5;     // from their idle speed, under load
constexpr Bytes kThreeGpuCaches = 256 * kMiB;

class GpuOpTimer : public OpTimer {
 public:
  GpuOpTimer(kernels::cuda::CudaGraph& kernels, ScratchRing ring, memory::Arena flush)
      : kernels_(kernels), ring_(std::move(ring)), flush_(std::move(flush)) {
    check(cudaEventCreate(&begin_), "making an event");
    check(cudaEventCreate(&end_), "making an event");
    const cudaStream_t stream = kernels_.context().stream();
    gpu::delay_stream(stream, kClocksRise);
    check(cudaStreamSynchronize(stream), "waiting for the GPU's clocks");
  }
  ~GpuOpTimer() override {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }

  Status lie_in(const memory::Tier& /*fast*/, const memory::Tier& /*slow*/) override { return one_place(); }
  void put_in_slow(std::vector<graph::TensorId> tensors) override {
    SLUICE_CHECK(tensors.empty(), "a GPU's ops use its own memory alone");
  }

  Result<Seconds> run(graph::OpIndex op) override { return time(op, false); }
  Result<Seconds> run_cold(graph::OpIndex op) override { return time(op, true); }

 private:
  static Error one_place() { return {ErrorCode::kUnsupported, "a GPU's ops use its own memory alone"}; }

  Result<Seconds> time(graph::OpIndex index, bool cold) {
    const graph::Op& op = kernels_.graph().op(index);
    const std::vector<void*> operands = ring_.place(op);
    const cudaStream_t stream = kernels_.context().stream();
    try {
      SLUICE_RETURN_IF_ERROR(kernels_.prepare_step({.input = input_.get()}));
      if (cold) check(cudaMemsetAsync(flush_.data(), 0, as_index(flush_.bytes()), stream), "flushing");
      kernels_.begin_step();
      gpu::delay_stream(stream, kLaunchTime);
      check(cudaEventRecord(begin_, stream), "recording a time");
      kernels_.enqueue(index, operands);
      check(cudaEventRecord(end_, stream), "recording a time");
      check(cudaStreamSynchronize(stream), "waiting for the op");
      float milliseconds = 0;
      check(cudaEventElapsedTime(&milliseconds, begin_, end_), "reading a time");
      ring_.clear_integers(op, operands);
      return milliseconds * 1e-3;
    } catch (const gpu::CudaFailure& failure) {
      return Error{ErrorCode::kIo, "measuring op " + op.name + " failed: " + failure.what()};
    }
  }

  kernels::cuda::CudaGraph& kernels_;
  ScratchRing ring_;
  memory::Arena flush_;  // larger than the GPU's cache
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  std::unique_ptr<kernels::InputSource> input_ = make_zero_input();
};

}  // namespace

bool runs_on_gpu(const kernels::CompiledGraph& compiled) {
  return dynamic_cast<const kernels::cuda::CudaGraph*>(&compiled) != nullptr;
}

Result<std::unique_ptr<OpTimer>> make_gpu_op_timer(kernels::CompiledGraph& compiled) {
  SLUICE_ASSIGN(ScratchRing ring, ScratchRing::make_on_gpu(compiled.graph(), kThreeGpuCaches));
  SLUICE_ASSIGN(memory::Arena flush, gpu::map_device_arena(kThreeGpuCaches, "scratch"));
  return std::unique_ptr<OpTimer>(std::make_unique<GpuOpTimer>(dynamic_cast<kernels::cuda::CudaGraph&>(compiled),
                                                               std::move(ring), std::move(flush)));
}

}  // namespace sluice::measure
