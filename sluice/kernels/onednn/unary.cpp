// Unary functions: oneDNN's element-wise primitives, in any layout and type. The functions it has not are loops.
#include "sluice/kernels/onednn/loops/unary_loop.hpp"
#include "sluice/kernels/onednn/primitive_kernel.hpp"

namespace sluice::kernels {
namespace {

using dnnl::algorithm;
using dnnl::eltwise_backward;
using dnnl::eltwise_forward;

// A function in oneDNN's terms. `backward` reads the output where backward_reads_output() says so.
struct Eltwise {
  algorithm forward = algorithm::undef;
  algorithm backward = algorithm::undef;
  float alpha = 0, beta = 0;
};

Eltwise eltwise_of(const graph::UnaryAttributes& attributes) {
  const float alpha = attributes.alpha;
  const float beta = attributes.beta;
  switch (attributes.function) {
    case graph::UnaryFunction::kLinear:
      return {algorithm::eltwise_linear, algorithm::eltwise_linear, alpha, beta};
    case graph::UnaryFunction::kLeakyRelu:
      return {algorithm::eltwise_relu, algorithm::eltwise_relu_use_dst_for_bwd, alpha};
    case graph::UnaryFunction::kClip:
      return {algorithm::eltwise_clip_v2, algorithm::eltwise_clip_v2_use_dst_for_bwd, alpha, beta};
    case graph::UnaryFunction::kElu:
      return {algorithm::eltwise_elu, algorithm::eltwise_elu_use_dst_for_bwd, alpha};
    case graph::UnaryFunction::kSigmoid:
      return {algorithm::eltwise_logistic, algorithm::eltwise_logistic_use_dst_for_bwd};
    case graph::UnaryFunction::kTanh:
      return {algorithm::eltwise_tanh, algorithm::eltwise_tanh_use_dst_for_bwd};
    case graph::UnaryFunction::kSilu:
      return {algorithm::eltwise_swish, algorithm::eltwise_swish, 1.0F};
    case graph::UnaryFunction::kHardSwish:
      return {algorithm::eltwise_hardswish, algorithm::eltwise_hardswish, HardSwish().alpha, HardSwish().beta};
    case graph::UnaryFunction::kGelu:
      return {algorithm::eltwise_gelu_erf, algorithm::eltwise_gelu_erf};
    case graph::UnaryFunction::kGeluTanh:
      return {algorithm::eltwise_gelu_tanh, algorithm::eltwise_gelu_tanh};
    case graph::UnaryFunction::kExp:
      return {algorithm::eltwise_exp, algorithm::eltwise_exp_use_dst_for_bwd};
    case graph::UnaryFunction::kSqrt:
      return {algorithm::eltwise_sqrt, algorithm::eltwise_sqrt_use_dst_for_bwd};
    case graph::UnaryFunction::kAbs:
      return {algorithm::eltwise_abs, algorithm::eltwise_abs};
    case graph::UnaryFunction::kPower:
      return {algorithm::eltwise_pow, algorithm::eltwise_pow, 1.0F, alpha};
    default:  // a loop
      break;
  }
  return {};
}

bool is_loop(const graph::UnaryAttributes& attributes) { return eltwise_of(attributes).forward == algorithm::undef; }

eltwise_forward::primitive_desc forward_desc(algorithm function, const graph::UnaryAttributes& attributes,
                                             const Layout& data, const dnnl::engine& engine) {
  const Eltwise eltwise = eltwise_of(attributes);
  return describe_eltwise(engine, user_scratchpad(), function, data, eltwise.alpha, eltwise.beta);
}

KernelPtr make_unary(const KernelRequest& request, const dnnl::engine& engine) {
  const OperandRequest& x = request.inputs[0];
  const auto& attributes = request.as<graph::UnaryAttributes>();
  if (is_loop(attributes)) return make_unary_loop(request, flat_layout(x));
  const Layout data = x.layout.value_or(preferred_image_layout(x.shape, x.dtype));
  const auto desc = forward_desc(eltwise_of(attributes).forward, attributes, data, engine);
  auto kernel = std::make_unique<PrimitiveKernel>(eltwise_forward(desc), desc, engine);
  kernel->inputs = kernel->outputs = {data};
  kernel->bind(DNNL_ARG_SRC, 0, data);
  kernel->bind(DNNL_ARG_DST, 1, data);
  kernel->bind_scratchpad();
  return kernel;
}

KernelPtr make_unary_backward(const KernelRequest& request, const dnnl::engine& engine) {
  const OperandRequest& saved = request.inputs[0];
  const auto& attributes = request.as<graph::UnaryAttributes>();
  if (is_loop(attributes)) return make_unary_backward_loop(request, flat_layout(saved));
  const Eltwise eltwise = eltwise_of(attributes);
  const Layout data = saved.layout.value_or(preferred_image_layout(saved.shape, saved.dtype));
  const auto forward = forward_desc(eltwise.backward, attributes, data, engine);
  const auto desc = describe_eltwise_backward(engine, user_scratchpad(), forward, eltwise.backward, data, eltwise.alpha,
                                              eltwise.beta);
  auto kernel = std::make_unique<PrimitiveKernel>(eltwise_backward(desc), desc, engine);
  kernel->inputs = {data, data};
  kernel->outputs = {data};
  kernel->bind(graph::backward_reads_output(attributes.function) ? DNNL_ARG_DST : DNNL_ARG_SRC, 0, data);
  kernel->bind(DNNL_ARG_DIFF_DST, 1, data);
  kernel->bind(DNNL_ARG_DIFF_SRC, 2, data);
  kernel->bind_scratchpad();
  return kernel;
}

}  // namespace

KernelMakers unary_kernels() {
  return {
      {graph::OpKind::kUnary, make_unary},
      {graph::OpKind::kUnaryBackward, make_unary_backward},
  };
}

}  // namespace sluice::kernels
