#include "sluice/kernels/onednn/updates/update_lion.hpp"

#include "sluice/kernels/onednn/updates/update_kernel.hpp"
#include "sluice/kernels/onednn/updates/update_pass.hpp"

namespace sluice::kernels {

// `w`: the new weights.
template <typename Width, typename Gradient, typename Half>
SLUICE_INLINE inline void update_vector(const LionStep& step, const UpdateOperands<Gradient, Half>& operands,
                                        std::int64_t at, Vector& w) {
  Vector gradient, mean;
  load(operands.w + at, w);
  load(operands.gradient + at, gradient);
  load(operands.moment1 + at, mean);
  gradient = step.scale * gradient;
  const Vector direction = step.beta1 * mean + step.rest1 * gradient;
  mean = step.beta2 * mean + step.rest2 * gradient;
  store(mean, operands.new_moment1 + at);
  const Vector none{};
  const Vector forwards = direction > none ? none + step.rate : none;
  w = step.keep * w - (direction < none ? none - step.rate : forwards);
  store(w, operands.new_w + at);
}

LionStep lion_step(const graph::UpdateAttributes& attributes, const StepContext& context) {
  const double rate = learning_rate_of(attributes, context);
  const double beta1 = attributes.momentum, beta2 = attributes.beta2;
  return {.beta1 = static_cast<float>(beta1),
          .rest1 = static_cast<float>(1 - beta1),
          .beta2 = static_cast<float>(beta2),
          .rest2 = static_cast<float>(1 - beta2),
          .keep = static_cast<float>(1 - rate * attributes.weight_decay),
          .rate = static_cast<float>(rate)};
}

SLUICE_UPDATE_ELEMENTS(LionStep)

KernelPtr make_lion_update(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  return make_update(request, lion_step);
}

}  // namespace sluice::kernels
