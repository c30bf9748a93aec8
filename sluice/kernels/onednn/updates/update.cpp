// Gradients kept for the next step and summed over batches; the list of updates.
#include <algorithm>

#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/kernels/onednn/loops/loop_kernel.hpp"
#include "sluice/kernels/onednn/updates/optimizer_step.hpp"
#include "sluice/kernels/onednn/updates/update_kernel.hpp"
#include "sluice/kernels/onednn/vectors/element_loops.hpp"

namespace sluice::kernels {
namespace {

// The gradient as it lies, for the next step.
KernelPtr make_delay(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const OperandRequest& next = request.outputs[0];
  const Layout layout = next.layout.value_or(plain_layout(next.shape, next.dtype));
  const auto bytes = bytes_of(layout);
  const bool fills = request.outputs.size() > 1;
  auto kernel =
      std::make_unique<LoopKernel>(request, [bytes, fills](Operands operands, const StepContext& /*context*/) {
        for_blocks(bytes, [&](std::int64_t begin, std::int64_t end) {
          std::copy(operand<const char>(operands, 0) + begin, operand<const char>(operands, 0) + end,
                    operand<char>(operands, 1) + begin);
        });
        if (fills) *operand<float>(operands, 2) = 1;
        return Status{};
      });
  kernel->inputs = {layout};
  kernel->outputs[0] = layout;
  return kernel;
}

template <typename Gradient>
SLUICE_FORCE_INLINE void add_scaled(float factor, const Gradient* gradient, const float* sum, std::int64_t begin,
                                    std::int64_t end, float* new_sum) {
  if (sum == nullptr) {
    for (std::int64_t i = begin; i < end; ++i) new_sum[i] = factor * load(gradient, i);
  } else {
    for (std::int64_t i = begin; i < end; ++i) new_sum[i] = sum[i] + factor * load(gradient, i);
  }
}
SLUICE_VECTOR_CLONES void add_block(float factor, const float* gradient, const float* sum, std::int64_t begin,
                                    std::int64_t end, float* new_sum) {
  add_scaled(factor, gradient, sum, begin, end, new_sum);
}
SLUICE_VECTOR_CLONES void add_block(float factor, const BFloat16* gradient, const float* sum, std::int64_t begin,
                                    std::int64_t end, float* new_sum) {
  add_scaled(factor, gradient, sum, begin, end, new_sum);
}
SLUICE_VECTOR_CLONES void add_block(float factor, const Float16* gradient, const float* sum, std::int64_t begin,
                                    std::int64_t end, float* new_sum) {
  add_scaled(factor, gradient, sum, begin, end, new_sum);
}

KernelPtr make_accumulate(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const OperandRequest& gradient = request.inputs[0];
  const Layout layout = request.outputs[0].layout.value_or(plain_layout(gradient.shape));
  const bool adds = request.inputs.size() > 1;
  auto kernel = std::make_unique<LoopKernel>(request, [=, count = stored_elements(layout), dtype = gradient.dtype,
                                                       factor = request.as<graph::FactorAttributes>().factor](
                                                          Operands operands, const StepContext& /*context*/) {
    const float* sum = adds ? operand<const float>(operands, 1) : nullptr;
    float* new_sum = operand<float>(operands, adds ? 2 : 1);
    with_any_element(dtype, [&]<typename T>(T) {
      for_blocks(count, [&](std::int64_t begin, std::int64_t end) {
        add_block(factor, operand<const T>(operands, 0), sum, begin, end, new_sum);
      });
    });
    return Status{};
  });
  kernel->inputs.assign(request.inputs.size(), layout);
  kernel->inputs[0] = with_type(layout, gradient.dtype);
  kernel->outputs[0] = layout;
  return kernel;
}

}  // namespace

KernelMakers update_kernels() {
  return {{graph::OpKind::kAccumulateGradient, make_accumulate},
          {graph::OpKind::kDelayGradient, make_delay},
#define SLUICE_UPDATE_ENTRY(kind, name) {graph::OpKind::kind, make_##name##_update},
          SLUICE_UPDATES(SLUICE_UPDATE_ENTRY)
#undef SLUICE_UPDATE_ENTRY
  };
}

}  // namespace sluice::kernels
