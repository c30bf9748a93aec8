// Clipping by the global norm (graph/rewrite/clip_gradients.hpp): sums of squares, and the factor that comes of them;
// and the scale of losses that follows from it (scale_loss.hpp).
//
// Squares of fp32, bf16 and fp16 are exact in fp64. They are added up 16 beside each other in blocks of elements, then block by
// block, always in the same order: the number of threads changes no bit.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/loss_scale.hpp"
#include "sluice/kernels/onednn/loops/loop_kernel.hpp"
#include "sluice/kernels/onednn/vectors/element_loops.hpp"
#include "sluice/kernels/onednn/vectors/vector_code.hpp"

namespace sluice::kernels {
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
  auto sums = std::make_shared<std::vector<double>>(as_index((count + kLoopBlock - 1) / kLoopBlock));
  auto kernel = std::make_unique<LoopKernel>(
      request, [count, sums, dtype = x.dtype](Operands operands, const StepContext& /*context*/) {
        with_any_element(dtype, [&](auto element) {
          const auto* const values = operand<const decltype(element)>(operands, 0);
          for_blocks(count, [&](std::int64_t begin, std::int64_t end) {
            (*sums)[as_index(begin / kLoopBlock)] = block_sum(values + begin, end - begin);
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
  std::vector<double> sums(as_index(ranks->count()));
  SLUICE_RETURN_IF_ERROR(ranks->gather(Channel::kClipFactor, std::as_bytes(std::span(&sum, 1)), sizeof(sum),
                                       std::as_writable_bytes(std::span(sums))));
  sum = std::accumulate(sums.begin(), sums.end(), 0.0);
  return {};
}

// Of gradients that are `scale` times as large as they should be.
double factor_of(const graph::ClipAttributes& attributes, double sum, double scale) {
  const double norm = std::sqrt(sum) / scale;
  const double clipped = attributes.norm / (norm + attributes.epsilon);
  return (attributes.scaled && attributes.norm == 0 ? 1.0 : std::min(clipped, 1.0)) / scale;
}

KernelPtr make_clip_factor(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const std::size_t inputs = request.inputs.size(),
                    sums = inputs - (request.as<graph::ClipAttributes>().scaled ? 2 : 0);
  return std::make_unique<LoopKernel>(
      request,
      [=, attributes = request.as<graph::ClipAttributes>()](Operands operands, const StepContext& context) -> Status {
        double sum = 0;
        for (std::size_t i = 0; i < sums; ++i) sum += *operand<const float>(operands, i);
        if (attributes.ranks > 1) SLUICE_RETURN_IF_ERROR(add_up(context.ranks, sum));
        auto* const factor = operand<float>(operands, inputs);
        factor[0] =
            static_cast<float>(factor_of(attributes, sum, attributes.scaled ? *operand<float>(operands, sums) : 1));
        if (!attributes.scaled) return {};
        if (!std::isfinite(sum)) factor[0] = graph::kLeavesOut;
        factor[1] = operand<const float>(operands, sums + 1)[1];
        return {};
      });
}

// counts: updates since the scale has changed, updates left out.
KernelPtr make_loss_scale(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const std::size_t inputs = request.inputs.size();
  return std::make_unique<LoopKernel>(request, [inputs, attributes = request.as<graph::LossScaleAttributes>()](
                                                   Operands operands, const StepContext& /*context*/) {
    const float factor = *operand<const float>(operands, 0), scale = *operand<const float>(operands, 1);
    const auto* const counts = operand<const float>(operands, 2);
    const float of_updates = inputs > 3 ? *operand<const float>(operands, 3) : scale;
    const graph::LossScale next =
        graph::next_loss_scale(attributes, {scale, counts[0], counts[1]}, of_updates, factor < 0);
    *operand<float>(operands, inputs) = next.scale;
    operand<float>(operands, inputs + 1)[0] = next.kept;
    operand<float>(operands, inputs + 1)[1] = next.left_out;
    if (inputs > 3) *operand<float>(operands, inputs + 2) = scale;
    return Status{};
  });
}

}  // namespace

KernelMakers clipping_kernels() {
  return {
      {graph::OpKind::kSquaredSum, make_squared_sum},
      {graph::OpKind::kClipFactor, make_clip_factor},
      {graph::OpKind::kLossScale, make_loss_scale},
  };
}

}  // namespace sluice::kernels
