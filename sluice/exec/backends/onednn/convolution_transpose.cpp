// Transposed convolutions, oneDNN's deconvolutions. The graph has their weights as [I, O / G, KH, KW], oneDNN as
// [O, I, KH, KW] or [G, O / G, I / G, KH, KW]: the same bytes with two dimensions exchanged.
#include "sluice/exec/backends/onednn/convolution.hpp"

namespace sluice {
namespace {

using dnnl::deconvolution_backward_data;
using dnnl::deconvolution_backward_weights;
using dnnl::deconvolution_forward;

constexpr auto kAlgorithm = dnnl::algorithm::deconvolution_direct;

// Between the graph's order of a weight's dimensions and oneDNN's: input and output channels change places.
Layout exchange_channels(const Layout& layout) {
  const bool grouped = layout.data.ndims == 5;
  return layout.permute_axes(grouped ? std::vector<int>{0, 2, 1, 3, 4} : std::vector<int>{1, 0, 2, 3});
}

// The operands of a transposed convolution in any direction: requests of x, w and y or their gradients.
struct TransposedOperands {
  const OperandRequest& x;
  const OperandRequest& w;
  const OperandRequest& y;
  const Attributes& attributes;

  ConvolutionWindow window() const { return ConvolutionWindow(attributes.window); }
  Shape graph_w_shape() const { return split_groups(w.shape, attributes.groups); }
  Layout any_x() const { return any_layout(x.shape, x.dtype); }
  Layout any_y() const { return any_layout(y.shape, y.dtype); }
  Layout any_w() const { return any_w(w.dtype); }
  Layout any_w(DType dtype) const {
    Shape shape = graph_w_shape();
    std::swap(shape[shape.size() - 4], shape[shape.size() - 3]);
    return any_layout(shape, dtype);
  }
  Layout chosen_w() const {
    return w.layout ? exchange_channels(with_shape(*w.layout, graph_w_shape(), w.dtype)) : any_w();
  }
};

deconvolution_forward::primitive_desc forward_desc(const TransposedOperands& operands, const Layout& x, const Layout& w,
                                                   const Layout* bias, const Layout& y, Activation activation,
                                                   const dnnl::engine& engine) {
  const auto kind = dnnl::prop_kind::forward_training;
  const ConvolutionWindow window = operands.window();
  const auto desc = bias == nullptr ? deconvolution_forward::desc(kind, kAlgorithm, x, w, y, window.strides,
                                                                  window.dilation, window.begin, window.end)
                                    : deconvolution_forward::desc(kind, kAlgorithm, x, w, *bias, y, window.strides,
                                                                  window.dilation, window.begin, window.end);
  dnnl::primitive_attr attributes = user_scratchpad();
  append_activation(activation, attributes);
  return {desc, attributes, engine};
}

// Backward primitives want to know the forward one; only its shapes matter.
deconvolution_forward::primitive_desc forward_hint(const TransposedOperands& operands, const dnnl::engine& engine) {
  const DType dtype = operands.x.dtype;
  return forward_desc(operands, any_layout(operands.x.shape, dtype), operands.any_w(dtype), nullptr,
                      any_layout(operands.y.shape, dtype), Activation::kNone, engine);
}

}  // namespace

KernelPtr make_convolution_transpose(const KernelRequest& request, const dnnl::engine& engine) {
  const TransposedOperands operands{request.inputs[0], request.inputs[1], request.outputs[0], request.attributes};
  const bool has_bias = request.inputs.size() == 3;
  const Layout bias = has_bias ? plain_layout(request.inputs[2].shape, request.inputs[2].dtype) : Layout();
  const Layout* bias_layout = has_bias ? &bias : nullptr;
  const Activation activation = request.attributes.activation;

  const auto free =
      forward_desc(operands, operands.any_x(), operands.any_w(), bias_layout, operands.any_y(), activation, engine);
  const auto desc = keep_layouts_if_as_fast(free, [&] {
    return forward_desc(operands, chosen_or_any(operands.x), operands.chosen_w(), bias_layout,
                        chosen_or_any(operands.y), activation, engine);
  });

  auto kernel = std::make_unique<PrimitiveKernel>(deconvolution_forward(desc), desc, engine);
  kernel->inputs = {desc.src_desc(), exchange_channels(desc.weights_desc())};
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

KernelPtr make_convolution_transpose_backward_data(const KernelRequest& request, const dnnl::engine& engine) {
  const TransposedOperands operands{request.outputs[0], request.inputs[1], request.inputs[0], request.attributes};
  const ConvolutionWindow window = operands.window();
  const auto hint = forward_hint(operands, engine);
  const auto backward_desc = [&](const Layout& dx, const Layout& w, const Layout& dy) {
    return deconvolution_backward_data::primitive_desc(
        {kAlgorithm, dx, w, dy, window.strides, window.dilation, window.begin, window.end}, user_scratchpad(), engine,
        hint);
  };
  const auto free = backward_desc(operands.any_x(), operands.any_w(), operands.any_y());
  const auto without_activation_reorder = keep_layouts_if_as_fast(
      free, [&] { return backward_desc(chosen_or_any(operands.x), operands.any_w(), chosen_or_any(operands.y)); });
  const auto desc = keep_layouts_if_as_fast(without_activation_reorder, [&] {
    return backward_desc(without_activation_reorder.diff_src_desc(), operands.chosen_w(),
                         without_activation_reorder.diff_dst_desc());
  });

  auto kernel = std::make_unique<PrimitiveKernel>(deconvolution_backward_data(desc), desc, engine);
  kernel->inputs = {desc.diff_dst_desc(), exchange_channels(desc.weights_desc())};
  kernel->outputs = {desc.diff_src_desc()};
  kernel->bind(DNNL_ARG_DIFF_DST, 0, desc.diff_dst_desc());
  kernel->bind(DNNL_ARG_WEIGHTS, 1, desc.weights_desc());
  kernel->bind(DNNL_ARG_DIFF_SRC, 2, desc.diff_src_desc());
  kernel->bind_scratchpad();
  return kernel;
}

KernelPtr make_convolution_transpose_backward_weights(const KernelRequest& request, const dnnl::engine& engine) {
  const TransposedOperands operands{request.inputs[0], request.outputs[0], request.inputs[1], request.attributes};
  const ConvolutionWindow window = operands.window();
  const bool has_bias = request.outputs.size() == 2;
  const Layout dbias = has_bias ? plain_layout(request.outputs[1].shape) : Layout();
  const auto hint = forward_hint(operands, engine);
  const auto backward_desc = [&](const Layout& x, const Layout& dw, const Layout& dy) {
    const auto desc = has_bias ? deconvolution_backward_weights::desc(kAlgorithm, x, dw, dbias, dy, window.strides,
                                                                      window.dilation, window.begin, window.end)
                               : deconvolution_backward_weights::desc(kAlgorithm, x, dw, dy, window.strides,
                                                                      window.dilation, window.begin, window.end);
    return deconvolution_backward_weights::primitive_desc(desc, user_scratchpad(), engine, hint);
  };
  const auto free = backward_desc(operands.any_x(), operands.any_w(), operands.any_y());
  const auto without_activation_reorder = keep_layouts_if_as_fast(
      free, [&] { return backward_desc(chosen_or_any(operands.x), operands.any_w(), chosen_or_any(operands.y)); });
  const auto desc = keep_layouts_if_as_fast(without_activation_reorder, [&] {
    return backward_desc(without_activation_reorder.src_desc(), operands.chosen_w(),
                         without_activation_reorder.diff_dst_desc());
  });

  auto kernel = std::make_unique<PrimitiveKernel>(deconvolution_backward_weights(desc), desc, engine);
  kernel->inputs = {desc.src_desc(), desc.diff_dst_desc()};
  kernel->outputs = {exchange_channels(desc.diff_weights_desc())};
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
