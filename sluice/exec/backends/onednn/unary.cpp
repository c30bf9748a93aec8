// Unary functions: oneDNN's element-wise primitives, in any layout and type. The two functions it has not are loops.
#include "sluice/exec/backends/onednn/loops/loop_kernel.hpp"
#include "sluice/exec/backends/onednn/loops/vector_math.hpp"
#include "sluice/exec/backends/onednn/primitive_kernel.hpp"

namespace sluice {
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

Eltwise eltwise_of(const Attributes& attributes) {
  const float alpha = attributes.alpha;
  const float beta = attributes.beta;
  switch (attributes.unary) {
    case UnaryFunction::kLinear:
      return {algorithm::eltwise_linear, algorithm::eltwise_linear, alpha, beta};
    case UnaryFunction::kLeakyRelu:
      return {algorithm::eltwise_relu, algorithm::eltwise_relu_use_dst_for_bwd, alpha};
    case UnaryFunction::kClip:
      return {algorithm::eltwise_clip_v2, algorithm::eltwise_clip_v2_use_dst_for_bwd, alpha, beta};
    case UnaryFunction::kElu:
      return {algorithm::eltwise_elu, algorithm::eltwise_elu_use_dst_for_bwd, alpha};
    case UnaryFunction::kSigmoid:
      return {algorithm::eltwise_logistic, algorithm::eltwise_logistic_use_dst_for_bwd};
    case UnaryFunction::kTanh:
      return {algorithm::eltwise_tanh, algorithm::eltwise_tanh_use_dst_for_bwd};
    case UnaryFunction::kSilu:
      return {algorithm::eltwise_swish, algorithm::eltwise_swish, 1.0F};
    case UnaryFunction::kHardSwish:
      return {algorithm::eltwise_hardswish, algorithm::eltwise_hardswish};
    case UnaryFunction::kGelu:
      return {algorithm::eltwise_gelu_erf, algorithm::eltwise_gelu_erf};
    case UnaryFunction::kGeluTanh:
      return {algorithm::eltwise_gelu_tanh, algorithm::eltwise_gelu_tanh};
    case UnaryFunction::kExp:
      return {algorithm::eltwise_exp, algorithm::eltwise_exp_use_dst_for_bwd};
    case UnaryFunction::kLog:
      return {algorithm::eltwise_log, algorithm::eltwise_log};
    case UnaryFunction::kSqrt:
      return {algorithm::eltwise_sqrt, algorithm::eltwise_sqrt_use_dst_for_bwd};
    case UnaryFunction::kAbs:
      return {algorithm::eltwise_abs, algorithm::eltwise_abs};
    case UnaryFunction::kPower:
      return {algorithm::eltwise_pow, algorithm::eltwise_pow, 1.0F, alpha};
    case UnaryFunction::kHardSigmoid:
    case UnaryFunction::kErf:
      break;
  }
  return {};
}

bool is_loop(const Attributes& attributes) { return eltwise_of(attributes).forward == algorithm::undef; }

eltwise_forward::primitive_desc forward_desc(algorithm function, const Attributes& attributes, const Layout& data,
                                             const dnnl::engine& engine) {
  const Eltwise eltwise = eltwise_of(attributes);
  return {{dnnl::prop_kind::forward_training, function, data, eltwise.alpha, eltwise.beta}, user_scratchpad(), engine};
}

struct LoopFunction {
  bool erf;
  float alpha, beta;
};

template <typename T, typename Function>
SLUICE_FORCE_INLINE void map(const T* x, std::int64_t count, T* y, const Function& function) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) store(y, i, function(load(x, i)));
}

template <typename T>
SLUICE_FORCE_INLINE void apply(LoopFunction f, const T* x, std::int64_t count, T* y) {
  if (f.erf) return map(x, count, y, [](float v) { return vector_erf(v); });
  map(x, count, y, [f](float v) { return std::min(std::max(f.alpha * v + f.beta, 0.0F), 1.0F); });
}
SLUICE_VECTOR_CLONES void forward_block(LoopFunction f, const float* x, std::int64_t count, float* y) {
  apply(f, x, count, y);
}
SLUICE_VECTOR_CLONES void forward_block(LoopFunction f, const BFloat16* x, std::int64_t count, BFloat16* y) {
  apply(f, x, count, y);
}

template <typename T, typename Function>
SLUICE_FORCE_INLINE void map(const T* a, const T* b, std::int64_t count, T* y, const Function& function) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) store(y, i, function(load(a, i), load(b, i)));
}

// `saved` is x of erf, y of the hard sigmoid.
template <typename T>
SLUICE_FORCE_INLINE void derive(LoopFunction f, const T* saved, const T* dy, std::int64_t count, T* dx) {
  constexpr float kTwoOverRootPi = 1.12837917F;
  if (f.erf) return map(saved, dy, count, dx, [](float x, float d) { return d * kTwoOverRootPi * vector_exp(-x * x); });
  map(saved, dy, count, dx, [f](float y, float d) {
    const float slope = f.alpha * d;
    const float below_one = y < 1.0F ? slope : 0.0F;
    return y > 0.0F ? below_one : 0.0F;
  });
}
SLUICE_VECTOR_CLONES void backward_block(LoopFunction f, const float* saved, const float* dy, std::int64_t count,
                                         float* dx) {
  derive(f, saved, dy, count, dx);
}
SLUICE_VECTOR_CLONES void backward_block(LoopFunction f, const BFloat16* saved, const BFloat16* dy, std::int64_t count,
                                         BFloat16* dx) {
  derive(f, saved, dy, count, dx);
}

LoopFunction loop_function(const Attributes& attributes) {
  return {attributes.unary == UnaryFunction::kErf, attributes.alpha, attributes.beta};
}

KernelPtr make_loop(const KernelRequest& request, const Layout& data) {
  const LoopFunction function = loop_function(request.attributes);
  auto kernel = std::make_unique<LoopKernel>(request, [function, count = stored_elements(data),
                                                       dtype = request.inputs[0].dtype](
                                                          Operands operands, const StepContext& /*context*/) {
    with_element(dtype, [&]<typename T>(T) {
      for_blocks(count, [&](std::int64_t begin, std::int64_t end) {
        forward_block(function, operand<const T>(operands, 0) + begin, end - begin, operand<T>(operands, 1) + begin);
      });
    });
    return Status{};
  });
  kernel->inputs = kernel->outputs = {data};
  return kernel;
}

KernelPtr make_backward_loop(const KernelRequest& request, const Layout& data) {
  const LoopFunction function = loop_function(request.attributes);
  auto kernel =
      std::make_unique<LoopKernel>(request, [function, count = stored_elements(data), dtype = request.inputs[0].dtype](
                                                Operands operands, const StepContext& /*context*/) {
        with_element(dtype, [&]<typename T>(T) {
          for_blocks(count, [&](std::int64_t begin, std::int64_t end) {
            const auto at = [&](std::size_t i) { return operand<T>(operands, i) + begin; };
            backward_block(function, at(0), at(1), end - begin, at(2));
          });
        });
        return Status{};
      });
  kernel->inputs = {data, data};
  kernel->outputs = {data};
  return kernel;
}

KernelPtr make_unary(const KernelRequest& request, const dnnl::engine& engine) {
  const OperandRequest& x = request.inputs[0];
  if (is_loop(request.attributes)) return make_loop(request, flat_layout(x));
  const Layout data = x.layout.value_or(preferred_image_layout(x.shape, x.dtype));
  const auto desc = forward_desc(eltwise_of(request.attributes).forward, request.attributes, data, engine);
  auto kernel = std::make_unique<PrimitiveKernel>(eltwise_forward(desc), desc, engine);
  kernel->inputs = kernel->outputs = {data};
  kernel->bind(DNNL_ARG_SRC, 0, data);
  kernel->bind(DNNL_ARG_DST, 1, data);
  kernel->bind_scratchpad();
  return kernel;
}

KernelPtr make_unary_backward(const KernelRequest& request, const dnnl::engine& engine) {
  const OperandRequest& saved = request.inputs[0];
  if (is_loop(request.attributes)) return make_backward_loop(request, flat_layout(saved));
  const Eltwise eltwise = eltwise_of(request.attributes);
  const Layout data = saved.layout.value_or(preferred_image_layout(saved.shape, saved.dtype));
  const eltwise_backward::primitive_desc desc({eltwise.backward, data, data, eltwise.alpha, eltwise.beta},
                                              user_scratchpad(), engine,
                                              forward_desc(eltwise.backward, request.attributes, data, engine));
  auto kernel = std::make_unique<PrimitiveKernel>(eltwise_backward(desc), desc, engine);
  kernel->inputs = {data, data};
  kernel->outputs = {data};
  kernel->bind(backward_reads_output(request.attributes.unary) ? DNNL_ARG_DST : DNNL_ARG_SRC, 0, data);
  kernel->bind(DNNL_ARG_DIFF_DST, 1, data);
  kernel->bind(DNNL_ARG_DIFF_SRC, 2, data);
  kernel->bind_scratchpad();
  return kernel;
}

}  // namespace

KernelMakers unary_kernels() {
  return {
      {OpKind::kUnary, make_unary},
      {OpKind::kUnaryBackward, make_unary_backward},
  };
}

}  // namespace sluice
