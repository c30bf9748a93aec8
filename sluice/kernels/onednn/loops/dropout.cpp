// Dropout: x times 0 or the scale, by draws that depend on the element's row-major index (kernels/dropout.hpp). Tensors
// are read row-major, so that an index needs no arithmetic.
#include "sluice/kernels/dropout.hpp"

#include <bit>
#include <cstring>

#include "sluice/kernels/onednn/loops/loop_kernel.hpp"
#include "sluice/kernels/onednn/vectors/element_loops.hpp"

namespace sluice::kernels {
namespace {

// The draws of a part come first: a word serves four elements, and read as 16-bit numbers in memory's order the words
// are the elements' own draws.
constexpr std::int64_t kDropoutPart = 1024;
constexpr std::int64_t kWords = kDropoutPart / static_cast<std::int64_t>(DropoutDraws::kBlock);
static_assert(std::endian::native == std::endian::little);

// `first` is a multiple of DropoutDraws::kBlock.
template <typename T>
SLUICE_FORCE_INLINE void drop(const DropoutDraws& draws, const T* x, std::int64_t first, std::int64_t end, T* y) {
  const DropoutDraws mine = draws;
  const float scale = mine.scale();
  const std::uint32_t threshold = mine.threshold();
  for (std::int64_t part = first; part < end; part += kDropoutPart) {
    std::uint64_t words[kWords];
    std::uint16_t bits[kDropoutPart];
    const auto block = static_cast<std::uint64_t>(part) / DropoutDraws::kBlock;
#pragma omp simd
    for (std::int64_t i = 0; i < kWords; ++i) words[i] = mine.bits(block + static_cast<std::uint64_t>(i));
    std::memcpy(bits, words, sizeof(words));
    const std::int64_t count = std::min(kDropoutPart, end - part);
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      const float kept = load(x + part, i) * scale;
      store(y + part, i, bits[i] >= threshold ? kept : 0.0F);
    }
  }
}

SLUICE_VECTOR_CLONES void drop_block(const DropoutDraws& draws, const float* x, std::int64_t first, std::int64_t end,
                                     float* y) {
  drop(draws, x, first, end, y);
}
SLUICE_VECTOR_CLONES void drop_block(const DropoutDraws& draws, const BFloat16* x, std::int64_t first, std::int64_t end,
                                     BFloat16* y) {
  drop(draws, x, first, end, y);
}

KernelPtr make_dropout(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const std::int64_t count = graph::element_count(request.inputs[0].shape);
  return std::make_unique<LoopKernel>(
      request, [count, dtype = request.inputs[0].dtype, attributes = request.as<graph::DropoutAttributes>()](
                   Operands operands, const StepContext& context) {
        const DropoutDraws draws(context.seed, stream_of_dropout(attributes, context), context.step, attributes.rate);
        with_element(dtype, [&]<typename T>(T) {
          for_blocks(count, [&](std::int64_t begin, std::int64_t end) {
            drop_block(draws, operand<const T>(operands, 0), begin, end, operand<T>(operands, 1));
          });
        });
        return Status{};
      });
}

}  // namespace

KernelMakers dropout_kernels() {
  return {
      {graph::OpKind::kDropout, make_dropout},
  };
}

}  // namespace sluice::kernels
