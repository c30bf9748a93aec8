// Convolutions. Each asks oneDNN twice: once free to choose every layout, then with the layouts that the graph has
// already fixed. The second is taken if it is the same implementation, so that a reorder is inserted only where it buys
// a faster kernel.
#include "sluice/exec/backends/onednn/primitive_kernel.hpp"

namespace sluice {
namespace {

using dnnl::convolution_backward_data;
using dnnl::convolution_backward_weights;
using dnnl::convolution_forward;

constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;

struct Window {
  explicit Window(const Attributes& attributes)
      : strides{attributes.stride, attributes.stride}, padding{attributes.padding, attributes.padding} {}
  dnnl::memory::dims strides;
  dnnl::memory::dims padding;
};

Layout chosen_or_any(const OperandRequest& operand) { return operand.layout.value_or(any_layout(operand.shape)); }

// A slow implementation for odd layouts may refuse a request altogether; then the free choice stands.
template <typename PrimitiveDesc, typename Make>
PrimitiveDesc keep_layouts_if_as_fast(const PrimitiveDesc& free, Make make_fixed) {
  try {
    const PrimitiveDesc fixed = make_fixed();
    if (std::string_view(fixed.impl_info_str()) == free.impl_info_str()) return fixed;
  } catch (const dnnl::error& error) {
    if (error.status != dnnl_unimplemented) throw;
  }
  return free;
}

convolution_forward::primitive_desc forward_desc(const Layout& x, const Layout& w, const Layout* bias, const Layout& y,
                                                 const Window& window, const dnnl::engine& engine) {
  const auto kind = dnnl::prop_kind::forward_training;
  const auto desc =
      bias == nullptr
          ? convolution_forward::desc(kind, kAlgorithm, x, w, y, window.strides, window.padding, window.padding)
          : convolution_forward::desc(kind, kAlgorithm, x, w, *bias, y, window.strides, window.padding, window.padding);
  return {desc, user_scratchpad(), engine};
}

// Backward primitives want to know the forward one; only its shapes matter.
convolution_forward::primitive_desc forward_hint(const Shape& x, const Shape& w, const Shape& y, const Window& window,
                                                 const dnnl::engine& engine) {
  return forward_desc(any_layout(x), any_layout(w), nullptr, any_layout(y), window, engine);
}

}  // namespace

KernelPtr make_convolution(const KernelRequest& request, const dnnl::engine& engine) {
  const OperandRequest& x = request.inputs[0];
  const OperandRequest& w = request.inputs[1];
  const OperandRequest& y = request.outputs[0];
  const Window window(request.attributes);
  const bool has_bias = request.inputs.size() == 3;
  const Layout bias = plain_layout({w.shape[0]});
  const Layout* bias_layout = has_bias ? &bias : nullptr;

  const auto free =
      forward_desc(any_layout(x.shape), any_layout(w.shape), bias_layout, any_layout(y.shape), window, engine);
  const auto desc = keep_layouts_if_as_fast(free, [&] {
    return forward_desc(chosen_or_any(x), chosen_or_any(w), bias_layout, chosen_or_any(y), window, engine);
  });

  auto kernel = std::make_unique<PrimitiveKernel>(convolution_forward(desc), desc, engine);
  kernel->inputs = {desc.src_desc(), desc.weights_desc()};
  kernel->outputs = {desc.dst_desc()};
  kernel->bind(DNNL_ARG_SRC, 0, desc.src_desc());
  kernel->bind(DNNL_ARG_WEIGHTS, 1, desc.weights_desc());
  if (has_bias) {
    kernel->inputs.push_back(bias);
    kernel->bind(DNNL_ARG_BIAS, 2, bias);
  }
  kernel->bind(DNNL_ARG_DST, request.inputs.size(), desc.dst_desc());
  kernel->bind_scratchpad();
  return kernel;
}

KernelPtr make_convolution_backward_data(const KernelRequest& request, const dnnl::engine& engine) {
  const OperandRequest& dy = request.inputs[0];
  const OperandRequest& w = request.inputs[1];
  const OperandRequest& dx = request.outputs[0];
  const Window window(request.attributes);
  const auto hint = forward_hint(dx.shape, w.shape, dy.shape, window, engine);
  const auto backward_desc = [&](const Layout& dx_layout, const Layout& w_layout, const Layout& dy_layout) {
    return convolution_backward_data::primitive_desc(
        {kAlgorithm, dx_layout, w_layout, dy_layout, window.strides, window.padding, window.padding}, user_scratchpad(),
        engine, hint);
  };

  // Weights last: they are small beside the activations, so their reorder is the first to accept.
  const auto free = backward_desc(any_layout(dx.shape), any_layout(w.shape), any_layout(dy.shape));
  const auto without_activation_reorder = keep_layouts_if_as_fast(
      free, [&] { return backward_desc(chosen_or_any(dx), any_layout(w.shape), chosen_or_any(dy)); });
  const auto desc = keep_layouts_if_as_fast(without_activation_reorder, [&] {
    return backward_desc(without_activation_reorder.diff_src_desc(), chosen_or_any(w),
                         without_activation_reorder.diff_dst_desc());
  });

  auto kernel = std::make_unique<PrimitiveKernel>(convolution_backward_data(desc), desc, engine);
  kernel->inputs = {desc.diff_dst_desc(), desc.weights_desc()};
  kernel->outputs = {desc.diff_src_desc()};
  kernel->bind(DNNL_ARG_DIFF_DST, 0, desc.diff_dst_desc());
  kernel->bind(DNNL_ARG_WEIGHTS, 1, desc.weights_desc());
  kernel->bind(DNNL_ARG_DIFF_SRC, 2, desc.diff_src_desc());
  kernel->bind_scratchpad();
  return kernel;
}

KernelPtr make_convolution_backward_weights(const KernelRequest& request, const dnnl::engine& engine) {
  const OperandRequest& x = request.inputs[0];
  const OperandRequest& dy = request.inputs[1];
  const OperandRequest& dw = request.outputs[0];
  const Window window(request.attributes);
  const bool has_bias = request.outputs.size() == 2;
  const Layout dbias = plain_layout({dw.shape[0]});
  const auto hint = forward_hint(x.shape, dw.shape, dy.shape, window, engine);
  const auto backward_desc = [&](const Layout& x_layout, const Layout& dw_layout, const Layout& dy_layout) {
    const auto desc = has_bias ? convolution_backward_weights::desc(kAlgorithm, x_layout, dw_layout, dbias, dy_layout,
                                                                    window.strides, window.padding, window.padding)
                               : convolution_backward_weights::desc(kAlgorithm, x_layout, dw_layout, dy_layout,
                                                                    window.strides, window.padding, window.padding);
    return convolution_backward_weights::primitive_desc(desc, user_scratchpad(), engine, hint);
  };

  const auto free = backward_desc(any_layout(x.shape), any_layout(dw.shape), any_layout(dy.shape));
  const auto desc = keep_layouts_if_as_fast(
      free, [&] { return backward_desc(chosen_or_any(x), chosen_or_any(dw), chosen_or_any(dy)); });

  auto kernel = std::make_unique<PrimitiveKernel>(convolution_backward_weights(desc), desc, engine);
  kernel->inputs = {desc.src_desc(), desc.diff_dst_desc()};
  kernel->outputs = {desc.diff_weights_desc()};
  kernel->bind(DNNL_ARG_SRC, 0, desc.src_desc());
  kernel->bind(DNNL_ARG_DIFF_DST, 1, desc.diff_dst_desc());
  kernel->bind(DNNL_ARG_DIFF_WEIGHTS, 2, desc.diff_weights_desc());
  if (has_bias) {
    kernel->outputs.push_back(dbias);
    kernel->bind(DNNL_ARG_DIFF_BIAS, 3, dbias);
  }
  kernel->bind_scratchpad();
  return kernel;
}

}  // namespace sluice
