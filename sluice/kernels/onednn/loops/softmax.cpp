// Softmax along the last dimension, with its factor and causal mask: one visit of memory, rows stay in the cache.
#include "sluice/kernels/onednn/loops/loop_kernel.hpp"
#include "sluice/kernels/onednn/loops/softmax_row.hpp"

namespace sluice::kernels {
namespace {

SLUICE_VECTOR_CLONES void forward_row(const float* x, std::int64_t seen, float scale, float* y) {
  softmax_row(x, seen, scale, y);
}
SLUICE_VECTOR_CLONES void forward_row(const BFloat16* x, std::int64_t seen, float scale, BFloat16* y) {
  softmax_row(x, seen, scale, y);
}

// dx = scale * y * (dy - sum(y dy)).
template <typename T>
SLUICE_FORCE_INLINE void gradient(const T* y, const T* dy, std::int64_t count, float scale, T* dx) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += load(y, i) * load(dy, i);
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) store(dx, i, scale * load(y, i) * (load(dy, i) - sum));
}
SLUICE_VECTOR_CLONES void backward_row(const float* y, const float* dy, std::int64_t count, float scale, float* dx) {
  gradient(y, dy, count, scale, dx);
}
SLUICE_VECTOR_CLONES void backward_row(const BFloat16* y, const BFloat16* dy, std::int64_t count, float scale,
                                       BFloat16* dx) {
  gradient(y, dy, count, scale, dx);
}

// Rows of `columns`, of which row i of each matrix sees the first i + 1 when the mask is causal.
struct SoftmaxSpace {
  SoftmaxSpace(const graph::Shape& shape, const graph::SoftmaxAttributes& attributes)
      : columns(shape.back()),
        rows(graph::element_count(shape) / columns),
        matrix_rows(shape.size() > 1 ? shape[shape.size() - 2] : 1),
        scale(attributes.factor),
        causal(attributes.causal) {}

  std::int64_t seen(std::int64_t row) const { return causal ? std::min(columns, row % matrix_rows + 1) : columns; }

  std::int64_t columns, rows, matrix_rows;
  float scale;
  bool causal;
};

// What a row does not see is 0, in y and so in dx.
template <typename T>
void forward(const SoftmaxSpace& space, const T* x, T* y) {
  for_rows(space.rows, space.columns, [&](std::int64_t row) {
    const std::int64_t first = row * space.columns;
    const std::int64_t seen = space.seen(row);
    forward_row(x + first, seen, space.scale, y + first);
    std::fill_n(y + first + seen, space.columns - seen, T{});
  });
}

template <typename T>
void backward(const SoftmaxSpace& space, const T* y, const T* dy, T* dx) {
  for_rows(space.rows, space.columns, [&](std::int64_t row) {
    const std::int64_t first = row * space.columns;
    const std::int64_t seen = space.seen(row);
    backward_row(y + first, dy + first, seen, space.scale, dx + first);
    std::fill_n(dx + first + seen, space.columns - seen, T{});
  });
}

KernelPtr make_softmax(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const SoftmaxSpace space(request.inputs[0].shape, request.as<graph::SoftmaxAttributes>());
  return std::make_unique<LoopKernel>(
      request, [space, dtype = request.inputs[0].dtype](Operands operands, const StepContext& /*context*/) {
        with_element(dtype, [&]<typename T>(T) { forward(space, operand<T>(operands, 0), operand<T>(operands, 1)); });
        return Status{};
      });
}

KernelPtr make_softmax_backward(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const SoftmaxSpace space(request.inputs[0].shape, request.as<graph::SoftmaxAttributes>());
  return std::make_unique<LoopKernel>(
      request, [space, dtype = request.inputs[0].dtype](Operands operands, const StepContext& /*context*/) {
        with_element(dtype, [&]<typename T>(T) {
          backward(space, operand<T>(operands, 0), operand<T>(operands, 1), operand<T>(operands, 2));
        });
        return Status{};
      });
}

}  // namespace

KernelMakers softmax_kernels() {
  return {
      {graph::OpKind::kSoftmax, make_softmax},
      {graph::OpKind::kSoftmaxBackward, make_softmax_backward},
  };
}

}  // namespace sluice::kernels
