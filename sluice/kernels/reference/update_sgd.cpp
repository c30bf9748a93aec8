#include "sluice/kernels/reference/update.hpp"

namespace sluice::kernels {
namespace {

void sgd_update(const ReferenceCall& call) {
  if (stays(call)) return;
  const auto w = call.input<float>(0);
  const auto dw = call.input<float>(1);
  const auto momentum = call.input<float>(2);
  const auto new_w = call.output<float>(0);
  const auto new_momentum = call.output<float>(1);
  const graph::UpdateAttributes& attributes = call.as<graph::UpdateAttributes>();
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

}  // namespace

SLUICE_REFERENCE_KERNEL(kSgdUpdate, sgd_update)

}  // namespace sluice::kernels
