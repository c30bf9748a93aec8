#include <cmath>

#include "sluice/kernels/onednn/updates/update_kernel.hpp"
#include "sluice/kernels/onednn/updates/update_pass.hpp"

namespace sluice::kernels {

// `w`: the new weights.
template <typename Width, typename Gradient, typename Half>
SLUICE_INLINE inline void update_vector(const AdamStep& step, const UpdateOperands<Gradient, Half>& operands,
                                        std::int64_t at, Vector& w) {
  Vector gradient, mean, square, root;
  load(operands.w + at, w);
  load(operands.gradient + at, gradient);
  load(operands.moment1 + at, mean);
  load(operands.moment2 + at, square);
  gradient = step.scale * gradient + step.weight_decay * w;
  mean = step.beta1 * mean + step.rest1 * gradient;
  square = step.beta2 * square + step.rest2 * (gradient * gradient);
  store(mean, operands.new_moment1 + at);
  store(square, operands.new_moment2 + at);
  square_root<Width>(square, root);
  w = step.keep * w - step.step_size * mean / (step.root_correction * root + step.epsilon);
  store(w, operands.new_w + at);
}

AdamStep adam_step(const graph::UpdateAttributes& attributes, const StepContext& context) {
  const auto t = static_cast<double>(context.step + (attributes.delayed ? 0 : 1));  // this update is the t-th
  const double rate = learning_rate_of(attributes, context);
  const double beta1 = attributes.momentum, beta2 = attributes.beta2, decay = attributes.weight_decay;
  return {.beta1 = static_cast<float>(beta1),
          .rest1 = static_cast<float>(1 - beta1),
          .beta2 = static_cast<float>(beta2),
          .rest2 = static_cast<float>(1 - beta2),
          .epsilon = attributes.epsilon,
          .weight_decay = static_cast<float>(attributes.decoupled ? 0 : decay),
          .keep = static_cast<float>(attributes.decoupled ? 1 - rate * decay : 1),
          .step_size = static_cast<float>(rate / (1 - std::pow(beta1, t))),
          .root_correction = static_cast<float>(1 / std::sqrt(1 - std::pow(beta2, t)))};
}

SLUICE_UPDATE_ELEMENTS(AdamStep)

KernelPtr make_adam_update(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  return make_update(request, adam_step);
}

}  // namespace sluice::kernels
