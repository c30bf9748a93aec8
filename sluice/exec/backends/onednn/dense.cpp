// Dense layers as matrix products. Weights stay row-major [out, in] and are read transposed through strides; a slice of
// the output features is a strided part of y. oneDNN's matmul takes both as they are, where its inner product would
// need a packed copy of the weights.
#include "sluice/exec/backends/onednn/primitive_kernel.hpp"

namespace sluice {
namespace {

// Which part of the layer an op computes: `count` output features from `begin`, of `total`.
struct DenseSpace {
  DenseSpace(const Attributes& attributes, const Shape& x, const Shape& y)
      : batch(x[0]), in(element_count(x) / x[0]), total(y[1]), begin(attributes.out_begin) {
    count = (attributes.out_end == 0 ? total : attributes.out_end) - begin;
  }
  std::int64_t batch;
  std::int64_t in;
  std::int64_t total;
  std::int64_t begin;
  std::int64_t count = 0;
};

Layout matrix(std::int64_t rows, std::int64_t columns, std::int64_t row_stride, std::int64_t column_stride) {
  return {{rows, columns}, dnnl::memory::data_type::f32, dnnl::memory::dims{row_stride, column_stride}};
}

Bytes slice_offset(const DenseSpace& space) { return space.begin * size_of(DType::kF32); }

// Sums dy over the batch in sample order, so that the result does not depend on threads.
void sum_rows(const float* dy, const DenseSpace& space, float* dbias) {
  for (std::int64_t o = 0; o < space.count; ++o) dbias[o] = 0;
  for (std::int64_t n = 0; n < space.batch; ++n)
    for (std::int64_t o = 0; o < space.count; ++o) dbias[o] += dy[n * space.total + space.begin + o];
}

std::unique_ptr<PrimitiveKernel> make_product(const dnnl::matmul::desc& desc, const dnnl::primitive_attr& attributes,
                                              const KernelRequest& request, const dnnl::engine& engine) {
  const dnnl::matmul::primitive_desc product(desc, attributes, engine);
  auto kernel = std::make_unique<PrimitiveKernel>(dnnl::matmul(product), product, engine);
  kernel->inputs = plain_layouts(request.inputs);
  kernel->outputs = plain_layouts(request.outputs);
  return kernel;
}

}  // namespace

KernelPtr make_dense(const KernelRequest& request, const dnnl::engine& engine) {
  const DenseSpace space(request.attributes, request.inputs[0].shape, request.outputs[0].shape);
  const bool has_bias = request.inputs.size() - (request.attributes.partial ? 1 : 0) == 3;
  const Layout x = matrix(space.batch, space.in, space.in, 1);
  const Layout w = matrix(space.in, space.count, 1, space.in);
  const Layout bias = matrix(1, space.count, space.count, 1);
  const Layout y = matrix(space.batch, space.count, space.total, 1);
  const auto desc = has_bias ? dnnl::matmul::desc(x, w, bias, y) : dnnl::matmul::desc(x, w, y);

  auto kernel = make_product(desc, user_scratchpad(), request, engine);
  kernel->bind(DNNL_ARG_SRC, 0, x);
  kernel->bind(DNNL_ARG_WEIGHTS, 1, w);
  if (has_bias) kernel->bind(DNNL_ARG_BIAS, 2, bias);
  kernel->bind(DNNL_ARG_DST, request.inputs.size(), y, slice_offset(space));
  kernel->bind_scratchpad();
  return kernel;
}

KernelPtr make_dense_backward_data(const KernelRequest& request, const dnnl::engine& engine) {
  const DenseSpace space(request.attributes, request.outputs[0].shape, request.inputs[0].shape);
  const Layout dy = matrix(space.batch, space.count, space.total, 1);
  const Layout w = matrix(space.count, space.in, space.in, 1);
  const Layout dx = matrix(space.batch, space.in, space.in, 1);
  dnnl::primitive_attr attributes = user_scratchpad();
  if (request.attributes.partial) {
    dnnl::post_ops accumulate;
    accumulate.append_sum(1.0F);
    attributes.set_post_ops(accumulate);
  }

  auto kernel = make_product({dy, w, dx}, attributes, request, engine);
  kernel->bind(DNNL_ARG_SRC, 0, dy, slice_offset(space));
  kernel->bind(DNNL_ARG_WEIGHTS, 1, w);
  kernel->bind(DNNL_ARG_DST, request.inputs.size(), dx);
  kernel->bind_scratchpad();
  return kernel;
}

KernelPtr make_dense_backward_weights(const KernelRequest& request, const dnnl::engine& engine) {
  const DenseSpace space(request.attributes, request.inputs[0].shape, request.inputs[1].shape);
  const Layout dy = matrix(space.count, space.batch, 1, space.total);
  const Layout x = matrix(space.batch, space.in, space.in, 1);
  const Layout dw = matrix(space.count, space.in, space.in, 1);

  auto kernel = make_product({dy, x, dw}, user_scratchpad(), request, engine);
  kernel->bind(DNNL_ARG_SRC, 1, dy, slice_offset(space));
  kernel->bind(DNNL_ARG_WEIGHTS, 0, x);
  kernel->bind(DNNL_ARG_DST, 2, dw);
  kernel->bind_scratchpad();
  if (request.outputs.size() == 2) {
    kernel->then([space](std::span<void* const> operands) {
      sum_rows(static_cast<const float*>(operands[1]), space, static_cast<float*>(operands[3]));
    });
  }
  return kernel;
}

}  // namespace sluice
