// The kernel of an update, whatever its step does to an element (optimizer_step.hpp). It works on stored elements in any
// layout, padding included: padding is zero in all of them and stays zero.
#pragma once

#include <algorithm>

#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/graph/optimizers/optimizer_table.hpp"
#include "sluice/kernels/onednn/loops/loop_kernel.hpp"
#include "sluice/kernels/onednn/updates/optimizer_step.hpp"
#include "sluice/kernels/onednn/vectors/element_loops.hpp"

namespace sluice::kernels {

// What an update has beside w, dw and moments (op_table.hpp).
struct UpdateForm {
  std::size_t moments = 1, inputs = 3;
  bool clipped = false;  // behind the moments: a factor of gradients
  bool scaled = false;   // the factor has two elements
  bool delayed = false;  // the last input says whether there are gradients yet
  bool half = false;     // the last output is w in 16 bits
  graph::DType half_type = graph::DType::kBF16;
};

inline UpdateForm form_of(const KernelRequest& request) {
  const std::size_t moments = graph::moments_of(request.kind), inputs = request.inputs.size();
  const auto& attributes = request.as<graph::UpdateAttributes>();
  const bool delayed = attributes.delayed, half = request.outputs.size() > 1 + moments;
  const graph::DType gradient = request.inputs[1].dtype;
  const graph::DType half_type = half ? request.outputs.back().dtype : gradient;
  return {moments, inputs, inputs > 2 + moments + (delayed ? 1 : 0), attributes.scaled, delayed, half, half_type};
}

// Everything stays as it is, wherever it lies.
template <typename Gradient, typename Half>
void keep_elements(const UpdateOperands<Gradient, Half>& all, std::int64_t begin, std::int64_t end) {
  const auto keep = [&](const float* from, float* to) {
    if (from != to) std::copy(from + begin, from + end, to + begin);
  };
  keep(all.w, all.new_w);
  keep(all.moment1, all.new_moment1);
  if (all.moment2 != nullptr) keep(all.moment2, all.new_moment2);
  for (std::int64_t i = begin; i < end && all.half != nullptr; ++i) store(all.half, i, all.w[i]);
}

template <typename Gradient, typename Half>
UpdateOperands<Gradient, Half> update_operands(Operands operands, const UpdateForm& form) {
  const std::size_t outputs = form.inputs;
  UpdateOperands<Gradient, Half> result;
  result.w = operand<const float>(operands, 0);
  result.gradient = operand<const Gradient>(operands, 1);
  result.moment1 = operand<const float>(operands, 2);
  result.new_w = operand<float>(operands, outputs);
  result.new_moment1 = operand<float>(operands, outputs + 1);
  if (form.moments == 2) {
    result.moment2 = operand<const float>(operands, 3);
    result.new_moment2 = operand<float>(operands, outputs + 2);
  }
  if (form.half) result.half = operand<Half>(operands, outputs + 1 + form.moments);
  return result;
}

// Calls visit(gradient, half) with a value of either's type.
template <typename Visit>
void with_types(graph::DType gradient, graph::DType half, const Visit& visit) {
  const auto both = [&](auto of_half) {
    gradient == graph::DType::kF32 ? visit(float{}, of_half) : visit(of_half, of_half);
  };
  half == graph::DType::kF16 ? both(Float16{}) : both(BFloat16{});
}

// The factor of this update and its number, without those left out before.
struct ScaledStep {
  float factor = 1;
  StepContext context;
};

inline ScaledStep scaled_step(Operands operands, const UpdateForm& form, const StepContext& context) {
  ScaledStep step{1, context};
  if (!form.clipped) return step;
  const auto* const factor = operand<const float>(operands, 2 + form.moments);
  step.factor = factor[0];
  if (form.scaled) step.context.step -= static_cast<std::int64_t>(factor[1]);
  return step;
}

// `step_of`: attributes and the step's context to what is the same for all elements.
template <typename StepOf>
KernelPtr make_update(const KernelRequest& request, StepOf step_of) {
  const Layout layout = request.inputs[0].layout.value_or(plain_layout(request.inputs[0].shape));
  const graph::DType gradient = request.inputs[1].dtype;
  const UpdateForm form = form_of(request);
  auto kernel = std::make_unique<LoopKernel>(
      request,
      [=, count = stored_elements(layout), attributes = request.as<graph::UpdateAttributes>()](
          Operands operands, const StepContext& context) -> Status {
        const ScaledStep scaled = scaled_step(operands, form, context);
        auto step = step_of(attributes, scaled.context);
        step.scale = scaled.factor;
        const bool waits = form.delayed && *operand<const float>(operands, form.inputs - 1) == 0;
        const bool keeps = waits || (form.scaled && scaled.factor < 0);
        with_types(gradient, form.half_type, [&]<typename Gradient, typename Half>(Gradient, Half) {
          const auto all = update_operands<Gradient, Half>(operands, form);
          for_blocks(count, [&](std::int64_t begin, std::int64_t end) {
            keeps ? keep_elements(all, begin, end) : update_elements(step, all, begin, end);
          });
        });
        return {};
      });
  kernel->inputs.assign(request.inputs.size(), layout);
  kernel->outputs.assign(request.outputs.size(), layout);
  kernel->inputs[1] = with_type(layout, gradient);
  for (std::size_t i = 2 + form.moments; i < form.inputs; ++i)
    kernel->inputs[i] = plain_layout(request.inputs[i].shape);
  if (form.half) kernel->outputs.back() = with_type(layout, form.half_type);
  return kernel;
}

#define SLUICE_UPDATE_MAKER(kind, name) \
  KernelPtr make_##name##_update(const KernelRequest& request, const dnnl::engine& engine);
SLUICE_UPDATES(SLUICE_UPDATE_MAKER)
#undef SLUICE_UPDATE_MAKER

}  // namespace sluice::kernels
