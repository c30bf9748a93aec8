// Parameter updates: one pass over the parameter, its gradient and the optimizer's state, at the speed of memory. They
// work on stored elements in any layout, padding included: padding is zero in all of them and stays zero.
#include <cmath>

#include "sluice/exec/backends/onednn/loops/element_loops.hpp"
#include "sluice/exec/backends/onednn/loops/loop_kernel.hpp"

namespace sluice {
namespace {

struct SgdStep {
  float rate, momentum, weight_decay;
};

SLUICE_VECTOR_CLONES void sgd_block(const SgdStep& step, const float* w, const float* dw, const float* momentum,
                                    float* new_w, float* new_momentum, std::int64_t count) {
  const SgdStep s = step;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const float velocity = s.momentum * momentum[i] + (dw[i] + s.weight_decay * w[i]);
    new_momentum[i] = velocity;
    new_w[i] = w[i] - s.rate * velocity;
  }
}

// What is the same for all elements of a step. `weight_decay` is added to the gradient, `keep` multiplies the weight.
struct AdamStep {
  float beta1, beta2, epsilon, weight_decay, keep;
  float step_size;        // rate / (1 - beta1^t)
  float root_correction;  // 1 / sqrt(1 - beta2^t)
};

AdamStep adam_step(const Attributes& attributes, const StepContext& context) {
  const auto t = static_cast<double>(context.step + 1);
  const float rate = context.learning_rate;
  const double correction1 = 1 - std::pow(static_cast<double>(attributes.momentum), t);
  const double correction2 = 1 - std::pow(static_cast<double>(attributes.beta2), t);
  return {.beta1 = attributes.momentum,
          .beta2 = attributes.beta2,
          .epsilon = attributes.epsilon,
          .weight_decay = attributes.decoupled ? 0 : attributes.weight_decay,
          .keep = attributes.decoupled ? 1 - rate * attributes.weight_decay : 1,
          .step_size = static_cast<float>(rate / correction1),
          .root_correction = static_cast<float>(1 / std::sqrt(correction2))};
}

SLUICE_VECTOR_CLONES void adam_block(const AdamStep& step, const float* w, const float* dw, const float* moment1,
                                     const float* moment2, float* new_w, float* new_moment1, float* new_moment2,
                                     std::int64_t count) {
  const AdamStep s = step;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const float gradient = dw[i] + s.weight_decay * w[i];
    const float mean = s.beta1 * moment1[i] + (1 - s.beta1) * gradient;
    const float square = s.beta2 * moment2[i] + (1 - s.beta2) * gradient * gradient;
    new_moment1[i] = mean;
    new_moment2[i] = square;
    new_w[i] = s.keep * w[i] - s.step_size * mean / (std::sqrt(square) * s.root_correction + s.epsilon);
  }
}

std::unique_ptr<LoopKernel> make_update(const KernelRequest& request, const Layout& layout, LoopKernel::Body body) {
  auto kernel = std::make_unique<LoopKernel>(request, std::move(body));
  kernel->inputs.assign(request.inputs.size(), layout);
  kernel->outputs.assign(request.outputs.size(), layout);
  return kernel;
}

Layout parameter_layout(const KernelRequest& request) {
  return request.inputs[0].layout.value_or(plain_layout(request.inputs[0].shape));
}

KernelPtr make_sgd_update(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const Layout layout = parameter_layout(request);
  return make_update(request, layout,
                     [count = stored_elements(layout), attributes = request.attributes](
                         Operands operands, const StepContext& context) -> Status {
                       const SgdStep step{context.learning_rate, attributes.momentum, attributes.weight_decay};
                       for_blocks(count, [&](std::int64_t begin, std::int64_t end) {
                         const auto at = [&](std::size_t i) { return operand<float>(operands, i) + begin; };
                         sgd_block(step, at(0), at(1), at(2), at(3), at(4), end - begin);
                       });
                       return {};
                     });
}

KernelPtr make_adam_update(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const Layout layout = parameter_layout(request);
  return make_update(request, layout,
                     [count = stored_elements(layout), attributes = request.attributes](
                         Operands operands, const StepContext& context) -> Status {
                       const AdamStep step = adam_step(attributes, context);
                       for_blocks(count, [&](std::int64_t begin, std::int64_t end) {
                         const auto at = [&](std::size_t i) { return operand<float>(operands, i) + begin; };
                         adam_block(step, at(0), at(1), at(2), at(3), at(4), at(5), at(6), end - begin);
                       });
                       return {};
                     });
}

}  // namespace

KernelMakers update_kernels() {
  return {
      {OpKind::kSgdUpdate, make_sgd_update},
      {OpKind::kAdamUpdate, make_adam_update},
  };
}

}  // namespace sluice
