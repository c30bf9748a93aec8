#include "sluice/kernels/onednn/loops/convert.hpp"

#include "sluice/kernels/onednn/vectors/element_loops.hpp"

namespace sluice::kernels {
namespace {

template <typename From, typename To>
SLUICE_FORCE_INLINE void convert_each(const From* from, std::int64_t count, To* to) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) store(to, i, load(from, i));
}
SLUICE_VECTOR_CLONES void convert_block(const float* from, std::int64_t count, BFloat16* to) {
  convert_each(from, count, to);
}
SLUICE_VECTOR_CLONES void convert_block(const BFloat16* from, std::int64_t count, float* to) {
  convert_each(from, count, to);
}
SLUICE_VECTOR_CLONES void convert_block(const float* from, std::int64_t count, Float16* to) {
  convert_each(from, count, to);
}
SLUICE_VECTOR_CLONES void convert_block(const Float16* from, std::int64_t count, float* to) {
  convert_each(from, count, to);
}

template <typename From, typename To>
void convert_all(const From* from, std::int64_t count, To* to) {
  for_blocks(count,
             [&](std::int64_t begin, std::int64_t end) { convert_block(from + begin, end - begin, to + begin); });
}

}  // namespace

void convert(const float* from, std::int64_t count, BFloat16* to) { convert_all(from, count, to); }
void convert(const BFloat16* from, std::int64_t count, float* to) { convert_all(from, count, to); }
void convert(const float* from, std::int64_t count, Float16* to) { convert_all(from, count, to); }
void convert(const Float16* from, std::int64_t count, float* to) { convert_all(from, count, to); }

}  // namespace sluice::kernels
