// Transposition as oneDNN's reorder: x is described by strides that make its dimensions y's.
#include "sluice/base/as_index.hpp"
#include "sluice/kernels/onednn/primitive_kernel.hpp"

namespace sluice::kernels {
namespace {

KernelPtr make_transpose(const KernelRequest& request, const dnnl::engine& engine) {
  const OperandRequest& y = request.outputs[0];
  const graph::Shape& x = request.inputs[0].shape;
  const std::vector<std::int64_t>& axes = request.as<graph::TransposeAttributes>().axes;
  dnnl::memory::dims x_strides(x.size(), 1);
  for (std::size_t i = x.size(); i > 1; --i) x_strides[i - 2] = x_strides[i - 1] * x[i - 1];
  dnnl::memory::dims strides;
  for (const std::int64_t axis : axes) strides.push_back(x_strides[as_index(axis)]);

  const Layout from(y.shape, onednn_type(y.dtype), strides);
  const Layout to = plain_layout(y.shape, y.dtype);
  const dnnl::reorder::primitive_desc desc(engine, from, engine, to, user_scratchpad());
  auto kernel = std::make_unique<PrimitiveKernel>(dnnl::reorder(desc), desc, engine);
  kernel->inputs = plain_layouts(request.inputs);
  kernel->outputs = plain_layouts(request.outputs);
  kernel->bind(DNNL_ARG_FROM, 0, from);
  kernel->bind(DNNL_ARG_TO, 1, to);
  kernel->bind_scratchpad();
  return kernel;
}

}  // namespace

KernelMakers transpose_kernels() {
  return {
      {graph::OpKind::kTranspose, make_transpose},
  };
}

}  // namespace sluice::kernels
