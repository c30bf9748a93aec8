#include "benchmarks/host_step/step_buffers.hpp"

#include <utility>

#include "sluice/base/random.hpp"
#include "sluice/kernels/onednn/vectors/element_loops.hpp"

namespace sluice::benchmarks {
namespace {

constexpr std::uint64_t kSeed = 7;

template <typename T>
T* next_part(std::byte*& at, std::int64_t elements) {
  auto* const part = reinterpret_cast<T*>(at);
  at += align_up(elements * Bytes{sizeof(T)}, memory::kBlockAlignment);
  return part;
}

}  // namespace

Result<StepBuffers> StepBuffers::make(std::int64_t elements, bool with_wide, int threads) {
  StepBuffers buffers;
  const Bytes bytes = elements * (with_wide ? 20 : 16) + 8 * memory::kBlockAlignment;
  SLUICE_ASSIGN(buffers.arena_, memory::Arena::map(bytes, "dram"));
  buffers.arena_.prefault(threads);
  buffers.elements = elements;
  std::byte* at = buffers.arena_.data();
  buffers.w = next_part<float>(at, elements);
  buffers.moment1 = next_part<float>(at, elements);
  buffers.moment2 = next_part<float>(at, elements);
  buffers.gradient = next_part<kernels::BFloat16>(at, elements);
  buffers.half = next_part<kernels::BFloat16>(at, elements);
  if (with_wide) buffers.wide = next_part<float>(at, elements);
  kernels::for_blocks(elements, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto draw = [&](std::uint64_t which) {
        return random_uniform(kSeed, which, static_cast<std::uint64_t>(i)) - 0.5F;
      };
      buffers.w[i] = draw(0);
      buffers.gradient[i] = kernels::to_bf16(draw(1));
      buffers.moment1[i] = draw(2) * 0.1F;
      buffers.moment2[i] = (draw(3) + 0.5F) * 0.01F;
    }
  });
  return buffers;
}

}  // namespace sluice::benchmarks
