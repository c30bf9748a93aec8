// Convolutions. Each asks oneDNN twice: once free to choose every layout, then with the layouts that the graph has
// already fixed. The second is taken if it is the same implementation, so that a reorder is inserted only where it buys
// a faster kernel.
#include "sluice/exec/backends/onednn/convolution.hpp"

#include "sluice/exec/backends/onednn/winograd.hpp"

namespace sluice {
namespace {

using dnnl::convolution_backward_data;
using dnnl::convolution_backward_weights;
using dnnl::convolution_forward;

constexpr auto kDirect = dnnl::algorithm::convolution_direct;
constexpr auto kWinograd = dnnl::algorithm::convolution_winograd;

convolution_forward::primitive_desc forward_desc(dnnl::algorithm algorithm, const Layout& x, const Layout& w,
                                                 const Layout* bias, const Layout& y, const Attributes& attributes,
                                                 const dnnl::engine& engine) {
  const auto kind = dnnl::prop_kind::forward_training;
  const ConvolutionWindow window(attributes.window);
  const auto desc = bias == nullptr ? convolution_forward::desc(kind, algorithm, x, w, y, window.strides,
                                                                window.dilation, window.begin, window.end)
                                    : convolution_forward::desc(kind, algorithm, x, w, *bias, y, window.strides,
                                                                window.dilation, window.begin, window.end);
  dnnl::primitive_attr primitive_attributes = user_scratchpad();
  append_activation(attributes.activation, primitive_attributes);
  return {desc, primitive_attributes, engine};
}

// The operands of a convolution in any direction: requests of x, w and y or their gradients.
struct Operands {
  const OperandRequest& x;
  const OperandRequest& w;
  const OperandRequest& y;
  std::int64_t groups;

  Shape w_shape() const { return split_groups(w.shape, groups); }
  Layout any_x() const { return any_layout(x.shape, x.dtype); }
  Layout any_w() const { return any_layout(w_shape(), w.dtype); }
  Layout any_y() const { return any_layout(y.shape, y.dtype); }
  Layout chosen_w() const { return w.layout ? with_shape(*w.layout, w_shape(), w.dtype) : any_w(); }
};

// Backward primitives want to know the forward one; only its shapes matter.
convolution_forward::primitive_desc forward_hint(const Operands& operands, Attributes attributes,
                                                 const dnnl::engine& engine) {
  attributes.activation = Activation::kNone;
  const DType dtype = operands.x.dtype;
  return forward_desc(kDirect, any_layout(operands.x.shape, dtype), any_layout(operands.w_shape(), dtype), nullptr,
                      any_layout(operands.y.shape, dtype), attributes, engine);
}

std::unique_ptr<PrimitiveKernel> make_forward(dnnl::algorithm algorithm, const KernelRequest& request,
                                              const dnnl::engine& engine) {
  const Operands operands{request.inputs[0], request.inputs[1], request.outputs[0], request.attributes.groups};
  const bool has_bias = request.inputs.size() == 3;
  const Layout bias = plain_layout({operands.w.shape[0]}, has_bias ? request.inputs[2].dtype : DType::kF32);
  const Layout* bias_layout = has_bias ? &bias : nullptr;

  const auto free = forward_desc(algorithm, operands.any_x(), operands.any_w(), bias_layout, operands.any_y(),
                                 request.attributes, engine);
  const auto desc = keep_layouts_if_as_fast(free, [&] {
    return forward_desc(algorithm, chosen_or_any(operands.x), operands.chosen_w(), bias_layout,
                        chosen_or_any(operands.y), request.attributes, engine);
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

std::unique_ptr<PrimitiveKernel> make_backward_data(dnnl::algorithm algorithm, const KernelRequest& request,
                                                    const dnnl::engine& engine) {
  const Operands operands{request.outputs[0], request.inputs[1], request.inputs[0], request.attributes.groups};
  const ConvolutionWindow window(request.attributes.window);
  const auto hint = forward_hint(operands, request.attributes, engine);
  const auto backward_desc = [&](const Layout& dx_layout, const Layout& w_layout, const Layout& dy_layout) {
    return convolution_backward_data::primitive_desc(
        {algorithm, dx_layout, w_layout, dy_layout, window.strides, window.dilation, window.begin, window.end},
        user_scratchpad(), engine, hint);
  };

  // Weights last: they are small beside the activations, so their reorder is the first to accept.
  const auto free = backward_desc(operands.any_x(), operands.any_w(), operands.any_y());
  const auto without_activation_reorder = keep_layouts_if_as_fast(
      free, [&] { return backward_desc(chosen_or_any(operands.x), operands.any_w(), chosen_or_any(operands.y)); });
  const auto desc = keep_layouts_if_as_fast(without_activation_reorder, [&] {
    return backward_desc(without_activation_reorder.diff_src_desc(), operands.chosen_w(),
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

std::unique_ptr<PrimitiveKernel> make_backward_weights(dnnl::algorithm algorithm, const KernelRequest& request,
                                                       const dnnl::engine& engine) {
  const Operands operands{request.inputs[0], request.outputs[0], request.inputs[1], request.attributes.groups};
  const ConvolutionWindow window(request.attributes.window);
  const bool has_bias = request.outputs.size() == 2;
  const Layout dbias = plain_layout({operands.w.shape[0]});
  const auto hint = forward_hint(operands, request.attributes, engine);
  const auto backward_desc = [&](const Layout& x, const Layout& dw, const Layout& dy) {
    const auto desc = has_bias ? convolution_backward_weights::desc(algorithm, x, dw, dbias, dy, window.strides,
                                                                    window.dilation, window.begin, window.end)
                               : convolution_backward_weights::desc(algorithm, x, dw, dy, window.strides,
                                                                    window.dilation, window.begin, window.end);
    return convolution_backward_weights::primitive_desc(desc, user_scratchpad(), engine, hint);
  };

  // Its gradient's reorder is small beside those of activations, and the first to accept.
  const auto free = backward_desc(operands.any_x(), operands.any_w(), operands.any_y());
  const auto without_activation_reorder = keep_layouts_if_as_fast(
      free, [&] { return backward_desc(chosen_or_any(operands.x), operands.any_w(), chosen_or_any(operands.y)); });
  const auto desc = keep_layouts_if_as_fast(without_activation_reorder, [&] {
    return backward_desc(without_activation_reorder.src_desc(), operands.chosen_w(),
                         without_activation_reorder.diff_dst_desc());
  });

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

// With `samples` samples in place of all.
KernelRequest part_of(const KernelRequest& request, const std::vector<bool>& is_image, std::int64_t samples) {
  KernelRequest part = request;
  for (std::size_t i = 0; i < is_image.size(); ++i) {
    if (!is_image[i]) continue;
    const bool input = i < request.inputs.size();
    OperandRequest& operand = input ? part.inputs[i] : part.outputs[i - request.inputs.size()];
    operand.shape[0] = samples;
    if (operand.layout) operand.layout = layout_like(*operand.layout, operand.shape);
  }
  return part;
}

using MakeConvolution = std::unique_ptr<PrimitiveKernel> (*)(dnnl::algorithm, const KernelRequest&,
                                                             const dnnl::engine&);

// By Winograd's algorithm where that pays and oneDNN has it, else directly. `cuttable`: the batch may be done in parts.
KernelPtr make_best(MakeConvolution make, const KernelRequest& request, const OperandRequest& x,
                    const OperandRequest& y, const std::vector<bool>& is_image, bool cuttable,
                    const dnnl::engine& engine) {
  if (!winograd_pays(request.attributes, x, y)) return make(kDirect, request, engine);
  const auto make_part = [&](std::int64_t samples) -> KernelPtr {
    if (!cuttable && samples != x.shape[0]) return nullptr;
    try {
      return make(kWinograd, part_of(request, is_image, samples), engine);
    } catch (const dnnl::error& error) {
      if (error.status != dnnl_unimplemented) throw;
      return nullptr;
    }
  };
  KernelPtr fast = make_in_parts(request, is_image, request.scratch, make_part);
  return fast != nullptr ? std::move(fast) : make(kDirect, request, engine);
}

}  // namespace

void append_activation(Activation activation, dnnl::primitive_attr& attributes) {
  if (activation == Activation::kNone) return;
  dnnl::post_ops post_ops;
  if (activation == Activation::kRelu) post_ops.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
  if (activation == Activation::kRelu6) post_ops.append_eltwise(1.0F, dnnl::algorithm::eltwise_clip, 0.0F, 6.0F);
  attributes.set_post_ops(post_ops);
}

KernelPtr make_convolution(const KernelRequest& request, const dnnl::engine& engine) {
  std::vector<bool> is_image{true, false};
  is_image.resize(request.inputs.size(), false);
  is_image.push_back(true);
  return make_best(make_forward, request, request.inputs[0], request.outputs[0], is_image, true, engine);
}

KernelPtr make_convolution_backward_data(const KernelRequest& request, const dnnl::engine& engine) {
  return make_best(make_backward_data, request, request.outputs[0], request.inputs[0], {true, false, true}, true,
                   engine);
}

KernelPtr make_convolution_backward_weights(const KernelRequest& request, const dnnl::engine& engine) {
  std::vector<bool> is_image{true, true};
  is_image.resize(2 + request.outputs.size(), false);
  return make_best(make_backward_weights, request, request.inputs[0], request.inputs[1], is_image, false, engine);
}

}  // namespace sluice
