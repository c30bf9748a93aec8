// Beside updates of parameters: gradients kept, summed, measured; the scale of losses.
#include <algorithm>
#include <cmath>

#include "sluice/graph/loss_scale.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/kernels/reference/reference_kernels.hpp"

namespace sluice::kernels {
namespace {

void delay_gradient(const ReferenceCall& call) {
  std::ranges::copy(call.input<float>(0), call.output<float>(0).begin());
  if (call.output_count() > 1) call.output<float>(1)[0] = 1;
}

void accumulate_gradient(const ReferenceCall& call) {
  const auto dw = call.input<float>(0);
  const auto sum = call.output<float>(0);
  for (std::size_t i = 0; i < dw.size(); ++i) {
    sum[i] =
        (call.input_count() > 1 ? call.input<float>(1)[i] : 0.0F) + call.as<graph::FactorAttributes>().factor * dw[i];
  }
}

void squared_sum(const ReferenceCall& call) {
  double sum = 0;
  for (const float value : call.input<float>(0)) sum += static_cast<double>(value) * value;
  call.output<float>(0)[0] = static_cast<float>(sum);
}

void clip_factor(const ReferenceCall& call) {
  const graph::ClipAttributes& attributes = call.as<graph::ClipAttributes>();
  const std::size_t sums = call.input_count() - (attributes.scaled ? 2 : 0);
  double sum = 0;
  for (std::size_t i = 0; i < sums; ++i) sum += call.input<float>(i)[0];
  const double scale = attributes.scaled ? call.input<float>(sums)[0] : 1.0F;
  const double factor = attributes.norm / (std::sqrt(sum) / scale + attributes.epsilon);
  const bool clips = !attributes.scaled || attributes.norm > 0;
  call.output<float>(0)[0] = static_cast<float>((clips ? std::min(factor, 1.0) : 1.0) / scale);
  if (!attributes.scaled) return;
  if (!std::isfinite(sum)) call.output<float>(0)[0] = graph::kLeavesOut;
  call.output<float>(0)[1] = call.input<float>(sums + 1)[1];
}

void loss_scale(const ReferenceCall& call) {
  const float scale = call.input<float>(1)[0];
  const auto counts = call.input<float>(2);
  const float of_updates = call.input_count() > 3 ? call.input<float>(3)[0] : scale;
  const graph::LossScale next = graph::next_loss_scale(
      call.as<graph::LossScaleAttributes>(), {scale, counts[0], counts[1]}, of_updates, call.input<float>(0)[0] < 0);
  call.output<float>(0)[0] = next.scale;
  call.output<float>(1)[0] = next.kept;
  call.output<float>(1)[1] = next.left_out;
  if (call.output_count() > 2) call.output<float>(2)[0] = scale;
}

}  // namespace

SLUICE_REFERENCE_KERNEL(kSquaredSum, squared_sum)
SLUICE_REFERENCE_KERNEL(kClipFactor, clip_factor)
SLUICE_REFERENCE_KERNEL(kDelayGradient, delay_gradient)
SLUICE_REFERENCE_KERNEL(kAccumulateGradient, accumulate_gradient)
SLUICE_REFERENCE_KERNEL(kLossScale, loss_scale)

}  // namespace sluice::kernels
