// Casts between fp32 and bf16 or fp16, and from integers. A cast keeps the layout: what it reads lies as its result.
#include "sluice/kernels/onednn/loops/convert.hpp"
#include "sluice/kernels/onednn/loops/loop_kernel.hpp"
#include "sluice/kernels/onednn/vectors/element_loops.hpp"

namespace sluice::kernels {
namespace {

template <typename From, typename To>
LoopKernel::Body cast_body(std::int64_t count) {
  return [count](Operands operands, const StepContext& /*context*/) {
    convert(operand<const From>(operands, 0), count, operand<To>(operands, 1));
    return Status{};
  };
}

LoopKernel::Body integer_body(std::int64_t count) {
  return [count](Operands operands, const StepContext& /*context*/) {
    for_blocks(count, [&](std::int64_t begin, std::int64_t end) {
      const auto* const x = operand<const std::int32_t>(operands, 0);
      std::transform(x + begin, x + end, operand<float>(operands, 1) + begin,
                     [](std::int32_t value) { return static_cast<float>(value); });
    });
    return Status{};
  };
}

LoopKernel::Body body_of(graph::DType from, graph::DType to, std::int64_t count) {
  if (from == graph::DType::kI32) return integer_body(count);
  if (from == graph::DType::kF32)
    return to == graph::DType::kF16 ? cast_body<float, Float16>(count) : cast_body<float, BFloat16>(count);
  return from == graph::DType::kF16 ? cast_body<Float16, float>(count) : cast_body<BFloat16, float>(count);
}

KernelPtr make_cast(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const OperandRequest& x = request.inputs[0];
  const OperandRequest& y = request.outputs[0];
  // A gradient must lie like its parameter, which is decided; else x stays as it is.
  const Layout to = y.layout.value_or(with_type(x.layout.value_or(plain_layout(x.shape, x.dtype)), y.dtype));
  const std::int64_t count = stored_elements(to);
  auto kernel = std::make_unique<LoopKernel>(request, body_of(x.dtype, y.dtype, count));
  kernel->inputs = {with_type(to, x.dtype)};
  kernel->outputs = {to};
  return kernel;
}

}  // namespace

KernelMakers cast_kernels() {
  return {
      {graph::OpKind::kCast, make_cast},
  };
}

}  // namespace sluice::kernels
