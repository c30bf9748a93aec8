// One oneDNN primitive for each direction of a convolution, plain or transposed. oneDNN describes both families by
// classes of one form, so each direction is written once, for a `Family` of static members:
//   Forward, BackwardData, BackwardWeights   oneDNN's classes
//   kDirect                                  the family's direct algorithm
//   weights_shape(split)                     oneDNN's dimensions of weights whose groups are split off
//   exchange(layout)                         weights in the graph's order of dimensions as in oneDNN's, and back
#pragma once

#include "sluice/kernels/onednn/convolution.hpp"

namespace sluice::kernels {

// Appends a fused activation to a primitive's attributes.
inline void append_activation(graph::Activation activation, dnnl::primitive_attr& attributes) {
  if (activation == graph::Activation::kNone) return;
  dnnl::post_ops post_ops;
  if (activation == graph::Activation::kRelu) append_eltwise(post_ops, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
  if (activation == graph::Activation::kRelu6) append_eltwise(post_ops, dnnl::algorithm::eltwise_clip, 0.0F, 6.0F);
  attributes.set_post_ops(post_ops);
}

// `bias`: null where there is none.
template <typename Family>
auto forward_desc(dnnl::algorithm algorithm, const Layout& x, const Layout& w, const Layout* bias, const Layout& y,
                  const graph::ConvolutionAttributes& attributes, const dnnl::engine& engine) {
  using Forward = typename Family::Forward;
  const auto kind = dnnl::prop_kind::forward_training;
  const ConvolutionWindow window(attributes.window);
  dnnl::primitive_attr fused = user_scratchpad();
  append_activation(attributes.activation, fused);
  return bias == nullptr ? window.describe<Forward>(engine, fused, kind, algorithm, x, w, y)
                         : window.describe<Forward>(engine, fused, kind, algorithm, x, w, *bias, y);
}

// Backward primitives want to know the forward one; only its shapes matter.
template <typename Family>
auto forward_hint(const ConvolutionOperands<Family>& operands, const dnnl::engine& engine) {
  graph::ConvolutionAttributes attributes = operands.attributes;
  attributes.activation = graph::Activation::kNone;
  const graph::DType dtype = operands.x.dtype;
  return forward_desc<Family>(Family::kDirect, any_layout(operands.x.shape, dtype), operands.any_w(dtype), nullptr,
                              any_layout(operands.y.shape, dtype), attributes, engine);
}

// y of x, w and perhaps a bias, which stays row-major.
template <typename Family>
std::unique_ptr<PrimitiveKernel> make_forward(dnnl::algorithm algorithm, const KernelRequest& request,
                                              const dnnl::engine& engine) {
  const ConvolutionOperands<Family> operands{request.inputs[0], request.inputs[1], request.outputs[0],
                                             request.as<graph::ConvolutionAttributes>(),
                                             request.method != Method::kBest};
  const bool has_bias = request.inputs.size() == 3;
  const Layout bias = has_bias ? plain_layout(request.inputs[2].shape, request.inputs[2].dtype) : Layout();
  const auto desc = choose_forward_layouts(operands, [&](const Layout& x, const Layout& w, const Layout& y) {
    return forward_desc<Family>(algorithm, x, w, has_bias ? &bias : nullptr, y,
                                request.as<graph::ConvolutionAttributes>(), engine);
  });

  auto kernel = std::make_unique<PrimitiveKernel>(typename Family::Forward(desc), desc, engine);
  kernel->inputs = {desc.src_desc(), Family::exchange(desc.weights_desc())};
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

// dx of dy and w.
template <typename Family>
std::unique_ptr<PrimitiveKernel> make_backward_data(dnnl::algorithm algorithm, const KernelRequest& request,
                                                    const dnnl::engine& engine) {
  using BackwardData = typename Family::BackwardData;
  const ConvolutionOperands<Family> operands{request.outputs[0], request.inputs[1], request.inputs[0],
                                             request.as<graph::ConvolutionAttributes>(),
                                             request.method != Method::kBest};
  const ConvolutionWindow window(request.as<graph::ConvolutionAttributes>().window);
  const auto hint = forward_hint(operands, engine);
  const auto make = [&](const Layout& dx, const Layout& w, const Layout& dy) {
    return window.describe_backward<BackwardData>(engine, hint, algorithm, dx, w, dy);
  };
  const auto desc = choose_backward_layouts(operands, DNNL_ARG_DIFF_SRC, make);

  auto kernel = std::make_unique<PrimitiveKernel>(BackwardData(desc), desc, engine);
  kernel->inputs = {desc.diff_dst_desc(), Family::exchange(desc.weights_desc())};
  kernel->outputs = {desc.diff_src_desc()};
  kernel->bind(DNNL_ARG_DIFF_DST, 0, desc.diff_dst_desc());
  kernel->bind(DNNL_ARG_WEIGHTS, 1, desc.weights_desc());
  kernel->bind(DNNL_ARG_DIFF_SRC, 2, desc.diff_src_desc());
  kernel->bind_scratchpad();
  return kernel;
}

// dw, and perhaps dbias (row-major), of x and dy.
template <typename Family>
std::unique_ptr<PrimitiveKernel> make_backward_weights(dnnl::algorithm algorithm, const KernelRequest& request,
                                                       const dnnl::engine& engine) {
  using BackwardWeights = typename Family::BackwardWeights;
  const ConvolutionOperands<Family> operands{request.inputs[0], request.outputs[0], request.inputs[1],
                                             request.as<graph::ConvolutionAttributes>(),
                                             request.method != Method::kBest};
  const ConvolutionWindow window(request.as<graph::ConvolutionAttributes>().window);
  const bool has_bias = request.outputs.size() == 2;
  const Layout dbias = has_bias ? plain_layout(request.outputs[1].shape) : Layout();
  const auto hint = forward_hint(operands, engine);
  const auto make = [&](const Layout& x, const Layout& dw, const Layout& dy) {
    return has_bias ? window.describe_backward<BackwardWeights>(engine, hint, algorithm, x, dw, dbias, dy)
                    : window.describe_backward<BackwardWeights>(engine, hint, algorithm, x, dw, dy);
  };
  const auto desc = choose_backward_layouts(operands, DNNL_ARG_SRC, make);

  auto kernel = std::make_unique<PrimitiveKernel>(BackwardWeights(desc), desc, engine);
  kernel->inputs = {desc.src_desc(), desc.diff_dst_desc()};
  kernel->outputs = {Family::exchange(desc.diff_weights_desc())};
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

}  // namespace sluice::kernels
