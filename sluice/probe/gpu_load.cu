#include "sluice/gpu/gpu_memory.hpp"
#include "sluice/kernels/cuda/launch.cuh"
#include "sluice/kernels/cuda/product.hpp"
#include "sluice/probe/gpu_load.hpp"

namespace sluice::probe {
namespace {

constexpr std::int64_t kSide = 2048;                // of the square matrices of a product
constexpr std::int64_t kPassed = 32 * 1024 * 1024;  // floats that a pass reads and writes

}  // namespace

Result<GpuLoad> GpuLoad::make(const kernels::cuda::Context& context) {
  SLUICE_ASSIGN(memory::Arena arena, gpu::map_device_arena(kPassed * 4 + 4 * kSide * kSide * 4, "probe"));
  SLUICE_RETURN_IF_ERROR(gpu::clear_gpu_bytes(arena.data(), static_cast<std::size_t>(arena.bytes())));
  return GpuLoad(context, std::move(arena));
}

void GpuLoad::put(int rounds) const {
  auto* const passed = reinterpret_cast<float*>(arena_.data());
  float* const a = passed + kPassed;
  float* const b = a + kSide * kSide;
  float* const c = b + kSide * kSide;
  const kernels::cuda::Product product(
      *context_,
      {.rows = kSide, .columns = kSide, .depth = kSide, .a = {kSide}, .b = {kSide}, .c = {kSide}, .alignment = 16}, 0);
  for (int round = 0; round < rounds; ++round) {
    product.run({.a = a, .b = b, .c = c}, nullptr, context_->stream());
    kernels::cuda::for_each_element(context_->stream(), kPassed,
                                    [=] __device__(std::int64_t i) { passed[i] = passed[i] * 0.5F + 1.0F; });
  }
}

}  // namespace sluice::probe
