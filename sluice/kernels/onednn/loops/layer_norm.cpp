// Layer normalization along the last dimension. dscale and dshift are sums over rows: each of a fixed number of groups
// of rows has its partial sums in the workspace, and these are added in group order, whatever thread made them.
#include <cmath>

#include "sluice/kernels/onednn/loops/column_sums.hpp"
#include "sluice/kernels/onednn/loops/loop_kernel.hpp"
#include "sluice/kernels/onednn/vectors/element_loops.hpp"

namespace sluice::kernels {
namespace {

struct RowStats {
  float mean = 0;
  float inverse = 0;  // 1 / standard deviation
};

template <typename T>
SLUICE_FORCE_INLINE RowStats normalize(const T* x, std::int64_t count, const float* scale, const float* shift,
                                       float epsilon, T* y) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += load(x, i);
  const float mean = sum / static_cast<float>(count);
  float squares = 0;
#pragma omp simd reduction(+ : squares)
  for (std::int64_t i = 0; i < count; ++i) squares += (load(x, i) - mean) * (load(x, i) - mean);
  const float inverse = 1.0F / std::sqrt(squares / static_cast<float>(count) + epsilon);
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) store(y, i, (load(x, i) - mean) * inverse * scale[i] + shift[i]);
  return {mean, inverse};
}
SLUICE_VECTOR_CLONES RowStats forward_row(const float* x, std::int64_t count, const float* scale, const float* shift,
                                          float epsilon, float* y) {
  return normalize(x, count, scale, shift, epsilon, y);
}
SLUICE_VECTOR_CLONES RowStats forward_row(const BFloat16* x, std::int64_t count, const float* scale, const float* shift,
                                          float epsilon, BFloat16* y) {
  return normalize(x, count, scale, shift, epsilon, y);
}

// With g = scale dy and z the normalized x: dx = inverse * (g - mean(g) - z mean(g z)); dscale += dy z, dshift += dy.
template <typename T>
SLUICE_FORCE_INLINE void gradient(const T* x, const T* dy, std::int64_t count, const float* scale, RowStats stats,
                                  float* dscale, float* dshift, T* dx) {
  float sum = 0;
  float sum_along_x = 0;
#pragma omp simd reduction(+ : sum, sum_along_x)
  for (std::int64_t i = 0; i < count; ++i) {
    const float z = (load(x, i) - stats.mean) * stats.inverse;
    const float slope = load(dy, i);
    dscale[i] += slope * z;
    dshift[i] += slope;
    sum += scale[i] * slope;
    sum_along_x += scale[i] * slope * z;
  }
  const float mean = sum / static_cast<float>(count);
  const float mean_along_x = sum_along_x / static_cast<float>(count);
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const float z = (load(x, i) - stats.mean) * stats.inverse;
    store(dx, i, stats.inverse * (scale[i] * load(dy, i) - mean - z * mean_along_x));
  }
}
SLUICE_VECTOR_CLONES void backward_row(const float* x, const float* dy, std::int64_t count, const float* scale,
                                       RowStats stats, float* dscale, float* dshift, float* dx) {
  gradient(x, dy, count, scale, stats, dscale, dshift, dx);
}
SLUICE_VECTOR_CLONES void backward_row(const BFloat16* x, const BFloat16* dy, std::int64_t count, const float* scale,
                                       RowStats stats, float* dscale, float* dshift, BFloat16* dx) {
  gradient(x, dy, count, scale, stats, dscale, dshift, dx);
}

struct NormSpace {
  explicit NormSpace(const graph::Shape& shape)
      : features(shape.back()), rows(graph::element_count(shape) / features) {}

  static constexpr std::int64_t kGroups = 16;  // parts for every thread; the workspace is 2 * 16 rows
  std::int64_t group_begin(std::int64_t group) const { return rows * group / kGroups; }

  std::int64_t features, rows;
};

template <typename T>
void forward(const NormSpace& space, float epsilon, Operands operands) {
  const auto* x = operand<const T>(operands, 0);
  const auto* scale = operand<const float>(operands, 1);
  auto* y = operand<T>(operands, 2);
  auto* stats = operand<float>(operands, 3);
  for_rows(space.rows, space.features, [&](std::int64_t row) {
    const std::int64_t first = row * space.features;
    const RowStats made = forward_row(x + first, space.features, scale, scale + space.features, epsilon, y + first);
    stats[row] = made.mean;
    stats[space.rows + row] = made.inverse;
  });
}

template <typename T>
void backward(const NormSpace& space, Operands operands) {
  const auto* x = operand<const T>(operands, 0);
  const auto* dy = operand<const T>(operands, 1);
  const auto* scale = operand<const float>(operands, 2);
  const auto* stats = operand<const float>(operands, 3);
  auto* dx = operand<T>(operands, 4);
  auto* partial_sums = operand<float>(operands, 6);
  for_rows(NormSpace::kGroups, graph::element_count({space.rows, space.features}), [&](std::int64_t group) {
    float* const sums = partial_sums + group * 2 * space.features;
    std::fill_n(sums, 2 * space.features, 0.0F);
    for (std::int64_t row = space.group_begin(group); row < space.group_begin(group + 1); ++row) {
      const std::int64_t first = row * space.features;
      backward_row(x + first, dy + first, space.features, scale, {stats[row], stats[space.rows + row]}, sums,
                   sums + space.features, dx + first);
    }
  });
}

KernelPtr make_layer_norm(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const NormSpace space(request.inputs[0].shape);
  return std::make_unique<LoopKernel>(
      request, [space, epsilon = request.as<graph::NormAttributes>().epsilon, dtype = request.inputs[0].dtype](
                   Operands operands, const StepContext& /*context*/) {
        with_element(dtype, [&]<typename T>(T) { forward<T>(space, epsilon, operands); });
        return Status{};
      });
}

KernelPtr make_layer_norm_backward(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const NormSpace space(request.inputs[0].shape);
  const Columns sums{.rows = NormSpace::kGroups, .count = 2 * space.features, .row_stride = 2 * space.features};
  auto kernel = std::make_unique<LoopKernel>(
      request, [space, sums, dtype = request.inputs[0].dtype](Operands operands, const StepContext& /*context*/) {
        with_element(dtype, [&]<typename T>(T) { backward<T>(space, operands); });
        sum_columns(operands[6], graph::DType::kF32, sums, false, operand<float>(operands, 5));
        return Status{};
      });
  kernel->workspace_bytes = sums.rows * sums.count * size_of(graph::DType::kF32);
  return kernel;
}

}  // namespace

KernelMakers layer_norm_kernels() {
  return {
      {graph::OpKind::kLayerNorm, make_layer_norm},
      {graph::OpKind::kLayerNormBackward, make_layer_norm_backward},
  };
}

}  // namespace sluice::kernels
