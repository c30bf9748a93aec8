// Dense layers as matrix products. Weights stay row-major [out, in] and are read transposed through strides; a slice of
// the output features is a strided part of y. At 700 to 1024 rows products of plain matrices are as fast as those with
// blocked weights, which would cost reorders every step. Forward and in bf16 oneDNN's matmul is the fastest (it adds
// the bias, too), backward in fp32 its sgemm is, by about 5 %; both reach 85 to 95 % of what the cores can multiply.
#include "sluice/kernels/onednn/loops/column_sums.hpp"
#include "sluice/kernels/onednn/loops/loop_kernel.hpp"
#include "sluice/kernels/onednn/primitive_kernel.hpp"

namespace sluice::kernels {
namespace {

// What an op computes: `count` output features from `begin`, of `total`, for `rows` rows of `in` elements.
struct DenseSpace {
  DenseSpace(const graph::Slice& slice, const graph::Shape& x, const graph::Shape& w, const graph::Shape& y)
      : in(graph::element_count(w) / w[0]), count(w[0]), begin(slice.begin) {
    rows = graph::element_count(x) / in;
    total = graph::element_count(y) / rows;
  }
  std::int64_t in;
  std::int64_t count;
  std::int64_t begin;
  std::int64_t rows = 0;
  std::int64_t total = 0;
};

Layout matrix(std::int64_t rows, std::int64_t columns, std::int64_t row_stride, std::int64_t column_stride,
              graph::DType dtype) {
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

std::unique_ptr<PrimitiveKernel> make_product(const dnnl::matmul::primitive_desc& product, const KernelRequest& request,
                                              const dnnl::engine& engine) {
  auto kernel = std::make_unique<PrimitiveKernel>(dnnl::matmul(product), product, engine);
  kernel->inputs = plain_layouts(request.inputs);
  kernel->outputs = plain_layouts(request.outputs);
  return kernel;
}

// y = a b, or y += a b, by sgemm. Operands are given by their place in the op and the element where they start.
struct Gemm {
  bool transposed_a = false;  // a is stored [depth, rows]
  std::int64_t rows = 0, columns = 0, depth = 0;
  std::int64_t a_stride = 0;  // between stored rows; b and y are dense
  bool adding = false;
  std::size_t a = 0, b = 0, y = 0;
  std::int64_t a_first = 0;
};

void run_gemm(const Gemm& gemm, Operands operands) {
  const auto status = dnnl_sgemm(gemm.transposed_a ? 'T' : 'N', 'N', gemm.rows, gemm.columns, gemm.depth, 1.0F,
                                 operand<const float>(operands, gemm.a) + gemm.a_first, gemm.a_stride,
                                 operand<const float>(operands, gemm.b), gemm.columns, gemm.adding ? 1.0F : 0.0F,
                                 operand<float>(operands, gemm.y), gemm.columns);
  if (status != dnnl_success) throw dnnl::error(status, "sgemm failed");
}

KernelPtr make_gemm(const KernelRequest& request, const Gemm& gemm) {
  auto kernel = std::make_unique<LoopKernel>(request, [gemm](Operands operands, const StepContext& /*context*/) {
    run_gemm(gemm, operands);
    return Status{};
  });
  kernel->implementation = "sgemm";
  return kernel;
}

// The product that makes dw; dbias is summed beside it.
KernelPtr make_weight_product(const KernelRequest& request, const DenseSpace& space, const dnnl::engine& engine) {
  const graph::DType dtype = request.inputs[1].dtype;
  const bool adding = request.slice.accumulate;
  const std::size_t output = request.inputs.size();
  if (dtype == graph::DType::kF32 && request.method != Method::kMatMul) {
    return make_gemm(request, {.transposed_a = true,
                               .rows = space.count,
                               .columns = space.in,
                               .depth = space.rows,
                               .a_stride = space.total,
                               .adding = adding,
                               .a = 1,
                               .b = 0,
                               .y = output,
                               .a_first = space.begin});
  }
  const Layout dy_matrix = matrix(space.count, space.rows, 1, space.total, dtype);
  const Layout x_matrix = matrix(space.rows, space.in, space.in, 1, dtype);
  const Layout dw_matrix = matrix(space.count, space.in, space.in, 1, request.outputs[0].dtype);
  auto kernel = make_product(describe<dnnl::matmul>(engine, adding_to_target(adding), dy_matrix, x_matrix, dw_matrix),
                             request, engine);
  kernel->bind(DNNL_ARG_SRC, 1, dy_matrix, space.begin * size_of(dtype));
  kernel->bind(DNNL_ARG_WEIGHTS, 0, x_matrix);
  kernel->bind(DNNL_ARG_DST, output, dw_matrix);
  kernel->bind_scratchpad();
  return kernel;
}

// A product, and the sums of dy's columns after it.
class WeightsAndBias : public Kernel {
 public:
  WeightsAndBias(KernelPtr product, const KernelRequest& request, const DenseSpace& space)
      : product_(std::move(product)),
        columns_{.rows = space.rows, .count = space.count, .row_stride = space.total, .first = space.begin},
        dtype_(request.inputs[1].dtype),
        accumulate_(request.slice.accumulate),
        dbias_(request.inputs.size() + 1) {
    implementation = product_->implementation;
    inputs = product_->inputs;
    outputs = product_->outputs;
    workspace_bytes = product_->workspace_bytes;
  }
  Status run(Operands operands, const StepContext& context) override {
    SLUICE_RETURN_IF_ERROR(product_->run(operands, context));
    sum_columns(operands[1], dtype_, columns_, accumulate_, operand<float>(operands, dbias_));
    return {};
  }

 private:
  KernelPtr product_;
  Columns columns_;
  graph::DType dtype_;
  bool accumulate_;
  std::size_t dbias_;
};

KernelPtr make_dense(const KernelRequest& request, const dnnl::engine& engine) {
  const OperandRequest& x = request.inputs[0];
  const OperandRequest& w = request.inputs[1];
  const OperandRequest& y = request.outputs[0];
  const DenseSpace space(request.slice, x.shape, w.shape, y.shape);
  const bool has_bias = request.inputs.size() - (request.slice.partial ? 1 : 0) == 3;
  const Layout x_matrix = matrix(space.rows, space.in, space.in, 1, x.dtype);
  const Layout w_matrix = matrix(space.in, space.count, 1, space.in, w.dtype);
  const Layout bias = matrix(1, space.count, space.count, 1, graph::DType::kF32);
  const Layout y_matrix = matrix(space.rows, space.count, space.total, 1, y.dtype);
  const auto desc = has_bias ? describe<dnnl::matmul>(engine, user_scratchpad(), x_matrix, w_matrix, bias, y_matrix)
                             : describe<dnnl::matmul>(engine, user_scratchpad(), x_matrix, w_matrix, y_matrix);

  auto kernel = make_product(desc, request, engine);
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
  const DenseSpace space(request.slice, dx.shape, w.shape, dy.shape);
  const bool adding = request.slice.partial;
  const std::size_t output = request.inputs.size();
  if (dy.dtype == graph::DType::kF32 && request.method != Method::kMatMul) {
    return make_gemm(request, {.rows = space.rows,
                               .columns = space.in,
                               .depth = space.count,
                               .a_stride = space.total,
                               .adding = adding,
                               .a = 0,
                               .b = 1,
                               .y = output,
                               .a_first = space.begin});
  }
  const Layout dy_matrix = matrix(space.rows, space.count, space.total, 1, dy.dtype);
  const Layout w_matrix = matrix(space.count, space.in, space.in, 1, w.dtype);
  const Layout dx_matrix = matrix(space.rows, space.in, space.in, 1, dx.dtype);
  auto kernel = make_product(describe<dnnl::matmul>(engine, adding_to_target(adding), dy_matrix, w_matrix, dx_matrix),
                             request, engine);
  kernel->bind(DNNL_ARG_SRC, 0, dy_matrix, space.begin * size_of(dy.dtype));
  kernel->bind(DNNL_ARG_WEIGHTS, 1, w_matrix);
  kernel->bind(DNNL_ARG_DST, output, dx_matrix);
  kernel->bind_scratchpad();
  return kernel;
}

KernelPtr make_dense_backward_weights(const KernelRequest& request, const dnnl::engine& engine) {
  const DenseSpace space(request.slice, request.inputs[0].shape, request.outputs[0].shape, request.inputs[1].shape);
  KernelPtr product = make_weight_product(request, space, engine);
  if (request.outputs.size() == 1) return product;
  return std::make_unique<WeightsAndBias>(std::move(product), request, space);
}

}  // namespace

KernelMakers dense_kernels() {
  return {
      {graph::OpKind::kDense, make_dense},
      {graph::OpKind::kDenseBackwardData, make_dense_backward_data},
      {graph::OpKind::kDenseBackwardWeights, make_dense_backward_weights},
  };
}

}  // namespace sluice::kernels
