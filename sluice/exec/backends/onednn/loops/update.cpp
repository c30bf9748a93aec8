// Parameter updates (optimizer_step.hpp). They work on stored elements in any layout, padding included: padding is zero
// in all of them and stays zero.
#include "sluice/exec/backends/onednn/loops/element_loops.hpp"
#include "sluice/exec/backends/onednn/loops/loop_kernel.hpp"
#include "sluice/exec/backends/onednn/loops/optimizer_step.hpp"

namespace sluice {
namespace {

// Inputs are w, dw and as many moments; outputs w, the moments and, where they are one more, w in bf16.
template <typename Gradient>
UpdateOperands<Gradient> update_operands(Operands operands, std::size_t moments, bool half) {
  const std::size_t outputs = 2 + moments;
  UpdateOperands<Gradient> result;
  result.w = operand<const float>(operands, 0);
  result.gradient = operand<const Gradient>(operands, 1);
  result.moment1 = operand<const float>(operands, 2);
  result.new_w = operand<float>(operands, outputs);
  result.new_moment1 = operand<float>(operands, outputs + 1);
  if (moments == 2) {
    result.moment2 = operand<const float>(operands, 3);
    result.new_moment2 = operand<float>(operands, outputs + 2);
  }
  if (half) result.half = operand<BFloat16>(operands, outputs + 1 + moments);
  return result;
}

// `step_of`: attributes and the step's context to what is the same for all elements.
template <typename StepOf>
KernelPtr make_update(const KernelRequest& request, std::size_t moments, StepOf step_of) {
  const Layout layout = request.inputs[0].layout.value_or(plain_layout(request.inputs[0].shape));
  const DType gradient = request.inputs[1].dtype;
  const bool half = request.outputs.size() > 1 + moments;
  auto kernel = std::make_unique<LoopKernel>(
      request,
      [=, count = stored_elements(layout), attributes = request.attributes](Operands operands,
                                                                            const StepContext& context) -> Status {
        const auto step = step_of(attributes, context);
        with_element(gradient, [&](auto element) {
          const auto all = update_operands<decltype(element)>(operands, moments, half);
          for_blocks(count, [&](std::int64_t begin, std::int64_t end) { update_elements(step, all, begin, end); });
        });
        return {};
      });
  kernel->inputs.assign(request.inputs.size(), layout);
  kernel->outputs.assign(request.outputs.size(), layout);
  kernel->inputs[1] = with_type(layout, gradient);
  if (half) kernel->outputs.back() = with_type(layout, DType::kBF16);
  return kernel;
}

KernelPtr make_sgd_update(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  return make_update(request, 1, sgd_step);
}

KernelPtr make_adam_update(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  return make_update(request, 2, adam_step);
}

}  // namespace

KernelMakers update_kernels() {
  return {
      {OpKind::kSgdUpdate, make_sgd_update},
      {OpKind::kAdamUpdate, make_adam_update},
  };
}

}  // namespace sluice
