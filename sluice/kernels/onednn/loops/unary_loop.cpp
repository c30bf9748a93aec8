#include "sluice/kernels/onednn/loops/unary_loop.hpp"

#include "sluice/kernels/onednn/vectors/unary_math.hpp"

namespace sluice::kernels {
namespace {

struct LoopFunction {
  graph::UnaryFunction function;
  float alpha, beta;
};

template <typename T>
SLUICE_FORCE_INLINE void map_function(LoopFunction f, const T* x, std::int64_t count, T* y) {
  with_loop_function(
      f.function, [=](auto tag) __attribute__((always_inline)) {
#pragma omp simd
        for (std::int64_t i = 0; i < count; ++i) store(y, i, unary_value<tag()>(load(x, i), f.alpha, f.beta));
      });
}
SLUICE_VECTOR_CLONES void forward_block(LoopFunction f, const float* x, std::int64_t count, float* y) {
  map_function(f, x, count, y);
}
SLUICE_VECTOR_CLONES void forward_block(LoopFunction f, const BFloat16* x, std::int64_t count, BFloat16* y) {
  map_function(f, x, count, y);
}

template <typename T>
SLUICE_FORCE_INLINE void derive(LoopFunction f, const T* saved, const T* dy, std::int64_t count, T* dx) {
  with_loop_function(
      f.function, [=](auto tag) __attribute__((always_inline)) {
#pragma omp simd
        for (std::int64_t i = 0; i < count; ++i) {
          store(dx, i, load(dy, i) * unary_slope<tag()>(load(saved, i), f.alpha, f.beta));
        }
      });
}
SLUICE_VECTOR_CLONES void backward_block(LoopFunction f, const float* saved, const float* dy, std::int64_t count,
                                         float* dx) {
  derive(f, saved, dy, count, dx);
}
SLUICE_VECTOR_CLONES void backward_block(LoopFunction f, const BFloat16* saved, const BFloat16* dy, std::int64_t count,
                                         BFloat16* dx) {
  derive(f, saved, dy, count, dx);
}

LoopFunction loop_function(const graph::UnaryAttributes& attributes) {
  return {attributes.function, attributes.alpha, attributes.beta};
}

}  // namespace

KernelPtr make_unary_loop(const KernelRequest& request, const Layout& data) {
  const LoopFunction function = loop_function(request.as<graph::UnaryAttributes>());
  auto kernel = std::make_unique<LoopKernel>(request, [function, count = stored_elements(data),
                                                       dtype = request.inputs[0].dtype](
                                                          Operands operands, const StepContext& /*context*/) {
    with_element(dtype, [&]<typename T>(T) {
      for_blocks(count, [&](std::int64_t begin, std::int64_t end) {
        forward_block(function, operand<const T>(operands, 0) + begin, end - begin, operand<T>(operands, 1) + begin);
      });
    });
    return Status{};
  });
  kernel->inputs = kernel->outputs = {data};
  return kernel;
}

KernelPtr make_unary_backward_loop(const KernelRequest& request, const Layout& data) {
  const LoopFunction function = loop_function(request.as<graph::UnaryAttributes>());
  auto kernel =
      std::make_unique<LoopKernel>(request, [function, count = stored_elements(data), dtype = request.inputs[0].dtype](
                                                Operands operands, const StepContext& /*context*/) {
        with_element(dtype, [&]<typename T>(T) {
          for_blocks(count, [&](std::int64_t begin, std::int64_t end) {
            const auto at = [&](std::size_t i) { return operand<T>(operands, i) + begin; };
            backward_block(function, at(0), at(1), end - begin, at(2));
          });
        });
        return Status{};
      });
  kernel->inputs = {data, data};
  kernel->outputs = {data};
  return kernel;
}

}  // namespace sluice::kernels
