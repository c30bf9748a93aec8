#include "sluice/exec/backends/onednn/convolution.hpp"

namespace sluice {
namespace {

using dnnl::eltwise_backward;
using dnnl::eltwise_forward;

// Backward from the output, so that the ReLU may overwrite its input.
constexpr auto kRelu = dnnl::algorithm::eltwise_relu_use_dst_for_bwd;

eltwise_forward::primitive_desc relu_desc(const Layout& x, const dnnl::engine& engine) {
  return {{dnnl::prop_kind::forward_training, kRelu, x, 0.0F}, user_scratchpad(), engine};
}

}  // namespace

KernelPtr make_relu(const KernelRequest& request, const dnnl::engine& engine) {
  const OperandRequest& x = request.inputs[0];
  const auto desc = relu_desc(x.layout.value_or(preferred_image_layout(x.shape)), engine);
  auto kernel = std::make_unique<PrimitiveKernel>(eltwise_forward(desc), desc, engine);
  kernel->inputs = {desc.src_desc()};
  kernel->outputs = {desc.dst_desc()};
  kernel->bind(DNNL_ARG_SRC, 0, desc.src_desc());
  kernel->bind(DNNL_ARG_DST, 1, desc.dst_desc());
  kernel->bind_scratchpad();
  return kernel;
}

KernelPtr make_relu_backward(const KernelRequest& request, const dnnl::engine& engine) {
  const OperandRequest& y = request.inputs[0];
  const Layout data = y.layout.value_or(preferred_image_layout(y.shape));
  const eltwise_backward::primitive_desc desc({kRelu, data, data, 0.0F}, user_scratchpad(), engine,
                                              relu_desc(data, engine));
  auto kernel = std::make_unique<PrimitiveKernel>(eltwise_backward(desc), desc, engine);
  kernel->inputs = {data, data};
  kernel->outputs = {data};
  kernel->bind(DNNL_ARG_DST, 0, data);
  kernel->bind(DNNL_ARG_DIFF_DST, 1, data);
  kernel->bind(DNNL_ARG_DIFF_SRC, 2, data);
  kernel->bind_scratchpad();
  return kernel;
}

KernelPtr make_add(const KernelRequest& request, const dnnl::engine& engine) {
  const OperandRequest& a = request.inputs[0];
  const Layout data = a.layout.value_or(preferred_image_layout(a.shape));
  dnnl::primitive_attr attributes = user_scratchpad();
  append_activation(request.attributes.activation, attributes);
  const dnnl::binary::primitive_desc desc({dnnl::algorithm::binary_add, data, data, data}, attributes, engine);
  auto kernel = std::make_unique<PrimitiveKernel>(dnnl::binary(desc), desc, engine);
  kernel->inputs = {data, data};
  kernel->outputs = {data};
  kernel->bind(DNNL_ARG_SRC_0, 0, data);
  kernel->bind(DNNL_ARG_SRC_1, 1, data);
  kernel->bind(DNNL_ARG_DST, 2, data);
  kernel->bind_scratchpad();
  return kernel;
}

KernelPtr make_reorder(const Layout& from, const Layout& to, const dnnl::engine& engine) {
  // Where one side is row-major, it is read or written in the other's dimensions.
  const Layout source = is_plain(from) ? row_major_form(to, from.data_type()) : from;
  const Layout target = is_plain(to) && !is_plain(from) ? row_major_form(from, to.data_type()) : to;
  const dnnl::reorder::primitive_desc desc(engine, source, engine, target, user_scratchpad());
  auto kernel = std::make_unique<PrimitiveKernel>(dnnl::reorder(desc), desc, engine);
  kernel->inputs = {from};
  kernel->outputs = {to};
  kernel->bind(DNNL_ARG_FROM, 0, source);
  kernel->bind(DNNL_ARG_TO, 1, target);
  kernel->bind_scratchpad();
  return kernel;
}

}  // namespace sluice
