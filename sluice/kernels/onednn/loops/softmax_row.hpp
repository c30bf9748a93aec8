// The softmax of one row, as the softmax op and the loss share it.
#pragma once

#include "sluice/kernels/onednn/vectors/vector_math.hpp"

namespace sluice::kernels {

struct RowMass {
  float highest = 0;  // of scale * x
  float sum = 0;      // of exp(scale * x - highest)
};

// y = softmax(scale * x); y may be x. `scale` may be negative. Three passes over a row that stays in the cache.
template <typename T>
SLUICE_FORCE_INLINE RowMass softmax_row(const T* x, std::int64_t count, float scale, T* y) {
  float highest = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : highest)
  for (std::int64_t i = 0; i < count; ++i) highest = std::max(highest, scale * load(x, i));
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += vector_exp(scale * load(x, i) - highest);
  const float inverse = 1.0F / sum;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) store(y, i, vector_exp(scale * load(x, i) - highest) * inverse);
  return {highest, sum};
}

// The same in fp32, where the exponentials can wait in y: they are computed once.
template <>
SLUICE_FORCE_INLINE RowMass softmax_row(const float* x, std::int64_t count, float scale, float* y) {
  float highest = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : highest)
  for (std::int64_t i = 0; i < count; ++i) highest = std::max(highest, scale * x[i]);
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) {
    const float exponential = vector_exp(scale * x[i] - highest);
    y[i] = exponential;
    sum += exponential;
  }
  const float inverse = 1.0F / sum;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] *= inverse;
  return {highest, sum};
}

}  // namespace sluice::kernels
