#include "sluice/kernels/onednn/loops/column_sums.hpp"

#include <algorithm>

#include "sluice/kernels/onednn/vectors/element_loops.hpp"

namespace sluice::kernels {
namespace {

template <typename T>
SLUICE_FORCE_INLINE void add_rows(const T* values, std::int64_t rows, std::int64_t row_stride, std::int64_t count,
                                  float* sums) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const T* const from = values + row * row_stride;
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) sums[i] += load(from, i);
  }
}

SLUICE_VECTOR_CLONES void add_block(const float* values, std::int64_t rows, std::int64_t row_stride, std::int64_t count,
                                    float* sums) {
  add_rows(values, rows, row_stride, count, sums);
}
SLUICE_VECTOR_CLONES void add_block(const BFloat16* values, std::int64_t rows, std::int64_t row_stride,
                                    std::int64_t count, float* sums) {
  add_rows(values, rows, row_stride, count, sums);
}

template <typename T>
void sum_blocks(const T* values, const Columns& columns, bool accumulate, float* sums) {
  constexpr std::int64_t kBlock = 128;  // columns: two kilobytes of a row's cache lines, and parts for every thread
  const std::int64_t blocks = (columns.count + kBlock - 1) / kBlock;
#pragma omp parallel for schedule(static)
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t begin = block * kBlock;
    const std::int64_t count = std::min(kBlock, columns.count - begin);
    if (!accumulate) std::fill_n(sums + begin, count, 0.0F);
    add_block(values + columns.first + begin, columns.rows, columns.row_stride, count, sums + begin);
  }
}

}  // namespace

void sum_columns(const void* values, graph::DType dtype, const Columns& columns, bool accumulate, float* sums) {
  if (dtype == graph::DType::kBF16) return sum_blocks(static_cast<const BFloat16*>(values), columns, accumulate, sums);
  sum_blocks(static_cast<const float*>(values), columns, accumulate, sums);
}

}  // namespace sluice::kernels
