#include <cmath>

#include "sluice/kernels/reference/update.hpp"

namespace sluice::kernels {
namespace {

void adam_update(const ReferenceCall& call) {
  if (stays(call)) return;
  const auto w = call.input<float>(0);
  const auto dw = call.input<float>(1);
  const auto moment1 = call.input<float>(2);
  const auto moment2 = call.input<float>(3);
  const graph::UpdateAttributes& attributes = call.as<graph::UpdateAttributes>();
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

SLUICE_REFERENCE_KERNEL(kAdamUpdate, adam_update)

}  // namespace sluice::kernels
