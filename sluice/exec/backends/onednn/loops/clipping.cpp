// Clipping by the global norm (graph/rewrite/clip_gradients.hpp): sums of squares, and the factor that comes of them.
//
// Squares of fp32 and bf16 are exact in fp64. They are added up 16 beside each other in blocks of elements, then block by
// block, always in the same order: the number of threads changes no bit.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "sluice/exec/backends/onednn/loops/element_loops.hpp"
#include "sluice/exec/backends/onednn/loops/loop_kernel.hpp"
#include "sluice/exec/backends/onednn/loops/vector_code.hpp"

namespace sluice {
namespace {

template <typename T>
SLUICE_INLINE inline void add_squares(const T* x, std::int64_t count, DoubleVector& sums) {
  const std::int64_t whole = count / kLanes * kLanes;
  for (std::int64_t i = 0; i < whole; i += kLanes) {
    Vector value;
    load(x + i, value);
    const DoubleVector wide = __builtin_convertvector(value, DoubleVector);
    sums += wide * wide;
  }
  for (std::int64_t i = whole; i < count; ++i) {
    const double value = load(x, i);
    sums[i - whole] += value * value;
  }
}

template <typename T>
double block_sum(const T* x, std::int64_t count) {
  DoubleVector sums{};
  vectorised([&](auto) SLUICE_INLINE { add_squares(x, count, sums); });
  double sum = 0;
  for (int lane = 0; lane < kLanes; ++lane) sum += sums[lane];
  return sum;
}

KernelPtr make_squared_sum(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const OperandRequest& x = request.inputs[0];
  const Layout layout = x.layout.value_or(plain_layout(x.shape, x.dtype));  // zeros of padding add nothing
  const std::int64_t count = stored_elements(layout);
  auto sums = std::make_shared<std::vector<double>>(static_cast<std::size_t>((count + kLoopBlock - 1) / kLoopBlock));
  auto kernel = std::make_unique<LoopKernel>(
      request, [count, sums, dtype = x.dtype](Operands operands, const StepContext& /*context*/) {
        with_element(dtype, [&](auto element) {
          const auto* const values = operand<const decltype(element)>(operands, 0);
          for_blocks(count, [&](std::int64_t begin, std::int64_t end) {
            (*sums)[static_cast<std::size_t>(begin / kLoopBlock)] = block_sum(values + begin, end - begin);
          });
        });
        *operand<float>(operands, 1) = static_cast<float>(std::accumulate(sums->begin(), sums->end(), 0.0));
        return Status{};
      });
  kernel->inputs = {layout};
  return kernel;
}

// Over all ranks, in their order.
Status add_up(Ranks* ranks, double& sum) {
  if (ranks == nullptr) return {};
  std::vector<double> sums(static_cast<std::size_t>(ranks->count()));
  SLUICE_RETURN_IF_ERROR(ranks->gather(Channel::kClipFactor, std::as_bytes(std::span(&sum, 1)), sizeof(sum),
                                       std::as_writable_bytes(std::span(sums))));
  sum = std::accumulate(sums.begin(), sums.end(), 0.0);
  return {};
}

KernelPtr make_clip_factor(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const std::size_t count = request.inputs.size();
  return std::make_unique<LoopKernel>(
      request, [count, attributes = request.attributes](Operands operands, const StepContext& context) -> Status {
        double sum = 0;
        for (std::size_t i = 0; i < count; ++i) sum += *operand<const float>(operands, i);
        if (attributes.size > 1) SLUICE_RETURN_IF_ERROR(add_up(context.ranks, sum));
        const double factor = attributes.alpha / (std::sqrt(sum) + attributes.epsilon);
        *operand<float>(operands, count) = static_cast<float>(std::min(factor, 1.0));
        return Status{};
      });
}

}  // namespace

KernelMakers clipping_kernels() {
  return {
      {OpKind::kSquaredSum, make_squared_sum},
      {OpKind::kClipFactor, make_clip_factor},
  };
}

}  // namespace sluice
