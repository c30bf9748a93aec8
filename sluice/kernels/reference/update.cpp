// Parameter updates, PyTorch's: see graph/autodiff/autodiff.hpp.
#include <algorithm>
#include <cmath>

#include "sluice/graph/loss_scale.hpp"
#include "sluice/graph/op_traits.hpp"
#include "sluice/kernels/reference/reference_kernels.hpp"

namespace sluice {
namespace {

// The new parameter once more, where the op has such an output: it is rounded behind (reference_backend.cpp).
void write_half(const ReferenceCall& call, std::size_t output) {
  if (output < call.output_count()) std::ranges::copy(call.output<float>(0), call.output<float>(output).begin());
}

std::span<const float> factor_operand(const ReferenceCall& call) {
  return call.input<float>(2 + moments_of(call.op().kind));
}

float factor_of(const ReferenceCall& call) { return is_clipped(call.op()) ? factor_operand(call)[0] : 1.0F; }

// A delayed update without a gradient yet, or one whose gradients are not finite: everything stays.
bool stays(const ReferenceCall& call) {
  const bool waits = call.attributes().delayed && call.input<float>(call.input_count() - 1)[0] == 0;
  if (!waits && !(call.attributes().scaled && factor_of(call) < 0)) return false;
  const std::size_t moments = moments_of(call.op().kind);
  std::ranges::copy(call.input<float>(0), call.output<float>(0).begin());
  for (std::size_t i = 0; i < moments; ++i) {
    std::ranges::copy(call.input<float>(2 + i), call.output<float>(1 + i).begin());
  }
  write_half(call, 1 + moments);
  return true;
}

void delay_gradient(const ReferenceCall& call) {
  std::ranges::copy(call.input<float>(0), call.output<float>(0).begin());
  if (call.output_count() > 1) call.output<float>(1)[0] = 1;
}

void accumulate_gradient(const ReferenceCall& call) {
  const auto dw = call.input<float>(0);
  const auto sum = call.output<float>(0);
  for (std::size_t i = 0; i < dw.size(); ++i) {
    sum[i] = (call.input_count() > 1 ? call.input<float>(1)[i] : 0.0F) + call.attributes().alpha * dw[i];
  }
}

void squared_sum(const ReferenceCall& call) {
  double sum = 0;
  for (const float value : call.input<float>(0)) sum += static_cast<double>(value) * value;
  call.output<float>(0)[0] = static_cast<float>(sum);
}

void clip_factor(const ReferenceCall& call) {
  const Attributes& attributes = call.attributes();
  const std::size_t sums = call.input_count() - (attributes.scaled ? 2 : 0);
  double sum = 0;
  for (std::size_t i = 0; i < sums; ++i) sum += call.input<float>(i)[0];
  const double scale = attributes.scaled ? call.input<float>(sums)[0] : 1.0F;
  const double factor = attributes.alpha / (std::sqrt(sum) / scale + attributes.epsilon);
  const bool clips = !attributes.scaled || attributes.alpha > 0;
  call.output<float>(0)[0] = static_cast<float>((clips ? std::min(factor, 1.0) : 1.0) / scale);
  if (!attributes.scaled) return;
  if (!std::isfinite(sum)) call.output<float>(0)[0] = kLeavesOut;
  call.output<float>(0)[1] = call.input<float>(sums + 1)[1];
}

void loss_scale(const ReferenceCall& call) {
  const float scale = call.input<float>(1)[0];
  const auto counts = call.input<float>(2);
  const float of_updates = call.input_count() > 3 ? call.input<float>(3)[0] : scale;
  const LossScale next =
      next_loss_scale(call.attributes(), {scale, counts[0], counts[1]}, of_updates, call.input<float>(0)[0] < 0);
  call.output<float>(0)[0] = next.scale;
  call.output<float>(1)[0] = next.kept;
  call.output<float>(1)[1] = next.left_out;
  if (call.output_count() > 2) call.output<float>(2)[0] = scale;
}

void sgd_update(const ReferenceCall& call) {
  if (stays(call)) return;
  const auto w = call.input<float>(0);
  const auto dw = call.input<float>(1);
  const auto momentum = call.input<float>(2);
  const auto new_w = call.output<float>(0);
  const auto new_momentum = call.output<float>(1);
  const Attributes& attributes = call.attributes();
  const float factor = factor_of(call);
  const auto decay_of_velocity = static_cast<float>(attributes.momentum);
  const auto decay = static_cast<float>(attributes.weight_decay);
  const auto rate = static_cast<float>(learning_rate_of(attributes, call.context()));
  for (std::size_t i = 0; i < w.size(); ++i) {
    const float gradient = factor * dw[i] + decay * w[i];
    const float velocity = decay_of_velocity * momentum[i] + gradient;
    new_momentum[i] = velocity;
    new_w[i] = w[i] - rate * (attributes.nesterov ? gradient + decay_of_velocity * velocity : velocity);
  }
  write_half(call, 2);
}

void adam_update(const ReferenceCall& call) {
  if (stays(call)) return;
  const auto w = call.input<float>(0);
  const auto dw = call.input<float>(1);
  const auto moment1 = call.input<float>(2);
  const auto moment2 = call.input<float>(3);
  const Attributes& attributes = call.attributes();
  const double rate = learning_rate_of(attributes, call.context());
  const double beta1 = attributes.momentum;
  const double beta2 = attributes.beta2;
  const double left_out = attributes.scaled ? factor_operand(call)[1] : 0;
  const double steps = static_cast<double>(call.context().step + (attributes.delayed ? 0 : 1)) - left_out;
  const float factor = factor_of(call);
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double decay = attributes.weight_decay * w[i];
    const double clipped = factor * dw[i];
    const double gradient = attributes.decoupled ? clipped : clipped + decay;
    const double first = beta1 * moment1[i] + (1 - beta1) * gradient;
    const double second = beta2 * moment2[i] + (1 - beta2) * gradient * gradient;
    const double unbiased_first = first / (1 - std::pow(beta1, steps));
    const double unbiased_second = second / (1 - std::pow(beta2, steps));
    const double change = unbiased_first / (std::sqrt(unbiased_second) + attributes.epsilon);
    call.output<float>(0)[i] = static_cast<float>(w[i] - rate * (attributes.decoupled ? decay : 0) - rate * change);
    call.output<float>(1)[i] = static_cast<float>(first);
    call.output<float>(2)[i] = static_cast<float>(second);
  }
  write_half(call, 3);
}

}  // namespace

ReferenceKernels reference_update_kernels() {
  return {
      {OpKind::kSquaredSum, squared_sum},       {OpKind::kClipFactor, clip_factor},
      {OpKind::kDelayGradient, delay_gradient}, {OpKind::kSgdUpdate, sgd_update},
      {OpKind::kAdamUpdate, adam_update},       {OpKind::kAccumulateGradient, accumulate_gradient},
      {OpKind::kLossScale, loss_scale},
  };
}

}  // namespace sluice
