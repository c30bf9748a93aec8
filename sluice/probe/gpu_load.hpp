// Compute to measure copies beside: products and passes over memory in turn, as a training step has them.
#pragma once

#include "sluice/kernels/cuda/context.hpp"
#include "sluice/memory/arena.hpp"

namespace sluice::probe {

class GpuLoad {
 public:
  // Reserves 192 MiB of device memory. Throws CudaFailure.
  static Result<GpuLoad> make(const kernels::cuda::Context& context);

  // Puts `rounds` rounds on the context's stream, about 0.5 ms each on a GPU of 2022.
  void put(int rounds) const;

 private:
  GpuLoad(const kernels::cuda::Context& context, memory::Arena arena) : context_(&context), arena_(std::move(arena)) {}

  const kernels::cuda::Context* context_;
  memory::Arena arena_;
};

}  // namespace sluice::probe
