// Pooling. The index of a max pool is oneDNN's workspace: for each output element, which tap of the window won.
#include "sluice/kernels/onednn/primitive_kernel.hpp"

namespace sluice::kernels {
namespace {

using dnnl::pooling_backward;
using dnnl::pooling_forward;

constexpr auto kMax = dnnl::algorithm::pooling_max;

PoolingWindow window_of(const KernelRequest& request) {
  const graph::Window& window = request.as<graph::PoolAttributes>().window;
  return {.strides = {window.stride_h, window.stride_w},
          .kernel = {window.kernel_h, window.kernel_w},
          .begin = {window.pad_top, window.pad_left},
          .end = {window.pad_bottom, window.pad_right}};
}

dnnl::algorithm average(const graph::PoolAttributes& attributes) {
  return attributes.count_padding ? dnnl::algorithm::pooling_avg_include_padding
                                  : dnnl::algorithm::pooling_avg_exclude_padding;
}

pooling_forward::primitive_desc forward_desc(dnnl::algorithm algorithm, const Layout& x, const Layout& y,
                                             const PoolingWindow& window, const dnnl::engine& engine) {
  return window.describe<pooling_forward>(engine, user_scratchpad(), dnnl::prop_kind::forward_training, algorithm, x,
                                          y);
}

// Negative elements become zero, in place; a bf16 is negative when its highest bit is set.
template <typename T>
void relu(T* values, std::int64_t count) {
#pragma omp parallel for simd schedule(static)
  for (std::int64_t i = 0; i < count; ++i) values[i] = values[i] > T{0} ? values[i] : T{0};
}

std::function<void(std::span<void* const>)> relu_of_output(const Layout& y, graph::DType dtype) {
  const auto count = bytes_of(y) / graph::size_of(dtype);
  return [count, dtype](std::span<void* const> operands) {
    if (dtype == graph::DType::kBF16) {
      relu(static_cast<std::int16_t*>(operands[1]), count);
    } else {
      relu(static_cast<float*>(operands[1]), count);
    }
  };
}

KernelPtr make_forward(dnnl::algorithm algorithm, const KernelRequest& request, const dnnl::engine& engine) {
  const OperandRequest& x = request.inputs[0];
  const auto desc = forward_desc(algorithm, x.layout.value_or(preferred_image_layout(x.shape, x.dtype)),
                                 any_layout(request.outputs[0].shape, x.dtype), window_of(request), engine);
  auto kernel = std::make_unique<PrimitiveKernel>(pooling_forward(desc), desc, engine);
  kernel->inputs = {desc.src_desc()};
  kernel->outputs = {desc.dst_desc()};
  kernel->bind(DNNL_ARG_SRC, 0, desc.src_desc());
  kernel->bind(DNNL_ARG_DST, 1, desc.dst_desc());
  if (algorithm == kMax) {
    kernel->outputs.push_back(desc.workspace_desc());
    kernel->bind(DNNL_ARG_WORKSPACE, 2, desc.workspace_desc());
  }
  if (request.as<graph::PoolAttributes>().activation == graph::Activation::kRelu)
    kernel->then(relu_of_output(desc.dst_desc(), x.dtype));
  kernel->bind_scratchpad();
  return kernel;
}

KernelPtr make_backward(dnnl::algorithm algorithm, const Layout& dy, const KernelRequest& request,
                        const dnnl::engine& engine) {
  const PoolingWindow window = window_of(request);
  const Layout dx = layout_like(dy, request.outputs[0].shape);
  const auto hint = forward_desc(algorithm, dx, dy, window, engine);
  const auto desc = window.describe_backward<pooling_backward>(engine, user_scratchpad(), hint, algorithm, dx, dy);
  auto kernel = std::make_unique<PrimitiveKernel>(pooling_backward(desc), desc, engine);
  kernel->inputs = {dy};
  kernel->outputs = {dx};
  kernel->bind(DNNL_ARG_DIFF_DST, 0, dy);
  kernel->bind(DNNL_ARG_DIFF_SRC, request.inputs.size(), dx);
  if (algorithm == kMax) {
    kernel->inputs.push_back(desc.workspace_desc());
    kernel->bind(DNNL_ARG_WORKSPACE, 1, desc.workspace_desc());
  }
  kernel->bind_scratchpad();
  return kernel;
}

KernelPtr make_max_pool(const KernelRequest& request, const dnnl::engine& engine) {
  return make_forward(kMax, request, engine);
}

KernelPtr make_average_pool(const KernelRequest& request, const dnnl::engine& engine) {
  return make_forward(average(request.as<graph::PoolAttributes>()), request, engine);
}

KernelPtr make_max_pool_backward(const KernelRequest& request, const dnnl::engine& engine) {
  // The index is laid out like the forward output, so the gradient has to be as well.
  const OperandRequest& dy = request.inputs[0];
  const OperandRequest& index = request.inputs[1];
  const Layout free = dy.layout.value_or(preferred_image_layout(dy.shape, dy.dtype));
  return make_backward(kMax, index.layout ? with_type(*index.layout, dy.dtype) : free, request, engine);
}

KernelPtr make_average_pool_backward(const KernelRequest& request, const dnnl::engine& engine) {
  // The gradient of a global pool comes from a dense layer, row-major, which is the same bytes as blocked. Going on
  // blocked spares the layers before it a reorder.
  const OperandRequest& dy = request.inputs[0];
  const bool row_major = !dy.layout || is_plain(*dy.layout);
  const bool fills_block = dy.shape[1] >= kChannelBlock;
  const Layout layout = row_major && fills_block ? blocked_image_layout(dy.shape, dy.dtype)
                                                 : dy.layout.value_or(plain_layout(dy.shape, dy.dtype));
  return make_backward(average(request.as<graph::PoolAttributes>()), layout, request, engine);
}

}  // namespace

KernelMakers pooling_kernels() {
  return {
      {graph::OpKind::kMaxPool, make_max_pool},
      {graph::OpKind::kAvgPool, make_average_pool},
      {graph::OpKind::kMaxPoolBackward, make_max_pool_backward},
      {graph::OpKind::kAvgPoolBackward, make_average_pool_backward},
  };
}

}  // namespace sluice::kernels
