// Dense layers as matrix products. Weights stay row-major [out, in] and are read transposed through strides; a slice of
// the output features is a strided part of y. oneDNN's matmul takes both as they are and packs what it wants in its
// scratchpad: at 700 to 1024 rows this is as fast as blocked weights, which would cost a reorder per step and op.
#include "sluice/exec/backends/onednn/column_sums.hpp"
#include "sluice/exec/backends/onednn/primitive_kernel.hpp"

namespace sluice {
namespace {

// What an op computes: `count` output features from `begin`, of `total`, for `rows` rows of `in` elements.
struct DenseSpace {
  DenseSpace(const Attributes& attributes, const Shape& x, const Shape& w, const Shape& y)
      : in(element_count(w) / w[0]), count(w[0]), begin(attributes.out_begin) {
    rows = element_count(x) / in;
    total = element_count(y) / rows;
  }
  std::int64_t in;
  std::int64_t count;
  std::int64_t begin;
  std::int64_t rows = 0;
  std::int64_t total = 0;
};

Layout matrix(std::int64_t rows, std::int64_t columns, std::int64_t row_stride, std::int64_t column_stride,
              DType dtype) {
  return {{rows, columns}, onednn_type(dtype), dnnl::memory::dims{row_stride, column_stride}};
}

dnnl::primitive_attr adding_to_target(bool adding) {
  dnnl::primitive_attr attributes = user_scratchpad();
  if (adding) {
    dnnl::post_ops sum;
    sum.append_sum(1.0F);
    attributes.set_post_ops(sum);
  }
  return attributes;
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
  const OperandRequest& x = request.inputs[0];
  const OperandRequest& w = request.inputs[1];
  const OperandRequest& y = request.outputs[0];
  const DenseSpace space(request.attributes, x.shape, w.shape, y.shape);
  const bool has_bias = request.inputs.size() - (request.attributes.partial ? 1 : 0) == 3;
  const Layout x_matrix = matrix(space.rows, space.in, space.in, 1, x.dtype);
  const Layout w_matrix = matrix(space.in, space.count, 1, space.in, w.dtype);
  const Layout bias = matrix(1, space.count, space.count, 1, DType::kF32);
  const Layout y_matrix = matrix(space.rows, space.count, space.total, 1, y.dtype);
  const auto desc = has_bias ? dnnl::matmul::desc(x_matrix, w_matrix, bias, y_matrix)
                             : dnnl::matmul::desc(x_matrix, w_matrix, y_matrix);

  auto kernel = make_product(desc, user_scratchpad(), request, engine);
  kernel->bind(DNNL_ARG_SRC, 0, x_matrix);
  kernel->bind(DNNL_ARG_WEIGHTS, 1, w_matrix);
  if (has_bias) kernel->bind(DNNL_ARG_BIAS, 2, bias);
  kernel->bind(DNNL_ARG_DST, request.inputs.size(), y_matrix, space.begin * size_of(y.dtype));
  kernel->bind_scratchpad();
  return kernel;
}

KernelPtr make_dense_backward_data(const KernelRequest& request, const dnnl::engine& engine) {
  const OperandRequest& dy = request.inputs[0];
  const OperandRequest& w = request.inputs[1];
  const OperandRequest& dx = request.outputs[0];
  const DenseSpace space(request.attributes, dx.shape, w.shape, dy.shape);
  const Layout dy_matrix = matrix(space.rows, space.count, space.total, 1, dy.dtype);
  const Layout w_matrix = matrix(space.count, space.in, space.in, 1, w.dtype);
  const Layout dx_matrix = matrix(space.rows, space.in, space.in, 1, dx.dtype);

  const auto attributes = adding_to_target(request.attributes.partial);
  auto kernel = make_product({dy_matrix, w_matrix, dx_matrix}, attributes, request, engine);
  kernel->bind(DNNL_ARG_SRC, 0, dy_matrix, space.begin * size_of(dy.dtype));
  kernel->bind(DNNL_ARG_WEIGHTS, 1, w_matrix);
  kernel->bind(DNNL_ARG_DST, request.inputs.size(), dx_matrix);
  kernel->bind_scratchpad();
  return kernel;
}

KernelPtr make_dense_backward_weights(const KernelRequest& request, const dnnl::engine& engine) {
  const OperandRequest& x = request.inputs[0];
  const OperandRequest& dy = request.inputs[1];
  const OperandRequest& dw = request.outputs[0];
  const DenseSpace space(request.attributes, x.shape, dw.shape, dy.shape);
  const Layout dy_matrix = matrix(space.count, space.rows, 1, space.total, dy.dtype);
  const Layout x_matrix = matrix(space.rows, space.in, space.in, 1, x.dtype);
  const Layout dw_matrix = matrix(space.count, space.in, space.in, 1, dw.dtype);

  const bool accumulate = request.attributes.accumulate;
  const std::size_t first_output = request.inputs.size();
  auto kernel = make_product({dy_matrix, x_matrix, dw_matrix}, adding_to_target(accumulate), request, engine);
  kernel->bind(DNNL_ARG_SRC, 1, dy_matrix, space.begin * size_of(dy.dtype));
  kernel->bind(DNNL_ARG_WEIGHTS, 0, x_matrix);
  kernel->bind(DNNL_ARG_DST, first_output, dw_matrix);
  kernel->bind_scratchpad();
  if (request.outputs.size() == 2) {
    const Columns columns{.rows = space.rows, .count = space.count, .row_stride = space.total, .first = space.begin};
    kernel->then([columns, accumulate, first_output, dtype = dy.dtype](std::span<void* const> operands) {
      sum_columns(operands[1], dtype, columns, accumulate, static_cast<float*>(operands[first_output + 1]));
    });
  }
  return kernel;
}

}  // namespace sluice
