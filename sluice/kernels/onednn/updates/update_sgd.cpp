#include "sluice/kernels/onednn/updates/update_kernel.hpp"
#include "sluice/kernels/onednn/updates/update_pass.hpp"

namespace sluice::kernels {

// `w`: the new weights.
template <typename Width, typename Gradient, typename Half>
SLUICE_INLINE inline void update_vector(const SgdStep& step, const UpdateOperands<Gradient, Half>& operands,
                                        std::int64_t at, Vector& w) {
  Vector gradient, velocity;
  load(operands.w + at, w);
  load(operands.gradient + at, gradient);
  load(operands.moment1 + at, velocity);
  gradient = step.scale * gradient + step.weight_decay * w;
  velocity = step.momentum * velocity + gradient;
  store(velocity, operands.new_moment1 + at);
  if (step.nesterov) velocity = gradient + step.momentum * velocity;
  w = w - step.rate * velocity;
  store(w, operands.new_w + at);
}

SgdStep sgd_step(const graph::UpdateAttributes& attributes, const StepContext& context) {
  return {.rate = static_cast<float>(learning_rate_of(attributes, context)),
          .momentum = static_cast<float>(attributes.momentum),
          .weight_decay = static_cast<float>(attributes.weight_decay),
          .nesterov = attributes.nesterov};
}

SLUICE_UPDATE_ELEMENTS(SgdStep)

KernelPtr make_sgd_update(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  return make_update(request, sgd_step);
}

}  // namespace sluice::kernels
