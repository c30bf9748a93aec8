// Lion: see graph/optimizers/optimizer_lion.cpp.
#include "sluice/kernels/reference/update.hpp"

namespace sluice::kernels {
namespace {

double sign(double value) { return value > 0 ? 1 : value < 0 ? -1 : 0; }

void lion_update(const ReferenceCall& call) {
  if (stays(call)) return;
  const auto w = call.input<float>(0);
  const auto dw = call.input<float>(1);
  const auto momentum = call.input<float>(2);
  const graph::UpdateAttributes& attributes = call.as<graph::UpdateAttributes>();
  const double rate = learning_rate_of(attributes, call.context());
  const double beta1 = attributes.momentum;
  const double beta2 = attributes.beta2;
  const float factor = factor_of(call);
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double gradient = factor * dw[i];
    const double kept = momentum[i];
    const double direction = sign(beta1 * kept + (1 - beta1) * gradient);
    call.output<float>(0)[i] = static_cast<float>(w[i] - rate * (direction + attributes.weight_decay * w[i]));
    call.output<float>(1)[i] = static_cast<float>(beta2 * kept + (1 - beta2) * gradient);
  }
  write_half(call, 2);
}

}  // namespace

SLUICE_REFERENCE_KERNEL(kLionUpdate, lion_update)

}  // namespace sluice::kernels
