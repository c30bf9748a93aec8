// Dense layers: one product each, with the bias in it where cuBLASLt can add it.
#include <numeric>

#include "sluice/kernels/cuda/cells.cuh"
#include "sluice/kernels/cuda/columns.cuh"
#include "sluice/kernels/cuda/prepared_op.hpp"
#include "sluice/kernels/cuda/product.hpp"

namespace sluice::kernels::cuda {
namespace {

// Which part of the layer an op computes: `count` output features from `begin`, of `total`.
struct DenseSpace {
  std::int64_t rows = 0, in = 0, total = 0, begin = 0, count = 0;

  DenseSpace(const graph::Slice& slice, const graph::Shape& x, const graph::Shape& w, const graph::Shape& y)
      : rows(graph::element_count(x) / w[1]),
        in(w[1]),
        total(graph::element_count(y) / rows),
        begin(slice.begin),
        count(w[0]) {}

  // Of what begins at feature `begin`, in elements.
  std::int64_t alignment() const { return begin == 0 ? 64 : std::gcd(begin, std::int64_t{64}); }
};

const void* moved(const Operand& operand, std::int64_t elements) {
  return static_cast<const std::byte*>(operand.data) + elements * size_of(operand.dtype);
}
void* moved_output(const Operand& operand, std::int64_t elements) {
  return static_cast<std::byte*>(operand.data) + elements * size_of(operand.dtype);
}

void add_bias(const CudaCall& call, const DenseSpace& space) {
  const Cells bias(call.input(2).data, call.input(2).bf16());
  const Cells y(call.output(0).data, call.output(0).bf16());
  for_each_element(call.stream, space.rows * space.count, [=] __device__(std::int64_t i) {
    const std::int64_t at = i / space.count * space.total + space.begin + i % space.count;
    y.set(at, y[at] + bias[i % space.count]);
  });
}

void sum_bias_gradient(const CudaCall& call, const DenseSpace& space, bool accumulate) {
  const Cells dy(call.input(1).data, call.input(1).bf16());
  const Cells dbias(call.output(1).data, call.output(1).bf16());
  sum_columns(
      call.stream, space.rows, space.count, call.workspace,
      [=] __device__(std::int64_t row, std::int64_t column) { return dy[row * space.total + space.begin + column]; },
      [=] __device__(std::int64_t column, float sum) { dbias.set(column, accumulate ? dbias[column] + sum : sum); });
}

// y = x w' + bias, of the slice's features.
class Dense : public PreparedOp {
 public:
  Dense(const Context& context, const OpRequest& request, Bytes scratch)
      : space_(request.op.slice, request.inputs[0], request.inputs[1], request.outputs[0]),
        has_bias_(request.inputs.size() - (request.op.slice.partial ? 1 : 0) == 3),
        adds_bias_in_product_(has_bias_ && request.output_types[0] == graph::DType::kF32 &&
                              request.input_types[0] == graph::DType::kF32),
        product_(context,
                 {.rows = space_.rows,
                  .columns = space_.count,
                  .depth = space_.in,
                  .a = {space_.in},
                  .b = {space_.in, true},
                  .c = {space_.total},
                  .factors = request.input_types[0],
                  .result = request.output_types[0],
                  .bias = adds_bias_in_product_,
                  .alignment = space_.alignment()},
                 scratch) {
    workspace_bytes = product_.workspace_bytes();
  }

  void run(const CudaCall& call) override {
    Product::Operands operands{
        .a = call.input(0).data, .b = call.input(1).data, .c = moved_output(call.output(0), space_.begin)};
    if (adds_bias_in_product_) operands.bias = call.input(2).data;
    product_.run(operands, call.workspace, call.stream);
    if (has_bias_ && !adds_bias_in_product_) add_bias(call, space_);
  }

 private:
  DenseSpace space_;
  bool has_bias_;
  bool adds_bias_in_product_;
  Product product_;
};

// dx = dy w, added to what other slices gave.
class DenseBackwardData : public PreparedOp {
 public:
  DenseBackwardData(const Context& context, const OpRequest& request, Bytes scratch)
      : space_(request.op.slice, request.outputs[0], request.inputs[1], request.inputs[0]),
        product_(context,
                 {.rows = space_.rows,
                  .columns = space_.in,
                  .depth = space_.count,
                  .a = {space_.total},
                  .b = {space_.in},
                  .c = {space_.in},
                  .factors = request.input_types[0],
                  .result = request.output_types[0],
                  .alignment = space_.alignment()},
                 scratch) {
    workspace_bytes = product_.workspace_bytes();
  }

  void run(const CudaCall& call) override {
    product_.run({.a = moved(call.input(0), space_.begin),
                  .b = call.input(1).data,
                  .c = call.output(0).data,
                  .beta = call.slice().partial ? 1.0F : 0.0F},
                 call.workspace, call.stream);
  }

 private:
  DenseSpace space_;
  Product product_;
};

// dw = dy' x; dbias is the sum of dy's rows.
class DenseBackwardWeights : public PreparedOp {
 public:
  DenseBackwardWeights(const Context& context, const OpRequest& request, Bytes scratch)
      : space_(request.op.slice, request.inputs[0], request.outputs[0], request.inputs[1]),
        product_(context,
                 {.rows = space_.count,
                  .columns = space_.in,
                  .depth = space_.rows,
                  .a = {space_.total, true},
                  .b = {space_.in},
                  .c = {space_.in},
                  .factors = request.input_types[0],
                  .result = request.output_types[0],
                  .alignment = space_.alignment()},
                 scratch) {
    workspace_bytes = product_.workspace_bytes();
    if (request.outputs.size() > 1)
      workspace_bytes = std::max(workspace_bytes, sum_columns_workspace(space_.rows, space_.count));
  }

  void run(const CudaCall& call) override {
    const bool accumulate = call.slice().accumulate;
    product_.run({.a = moved(call.input(1), space_.begin),
                  .b = call.input(0).data,
                  .c = call.output(0).data,
                  .beta = accumulate ? 1.0F : 0.0F},
                 call.workspace, call.stream);
    if (call.outputs.size() > 1) sum_bias_gradient(call, space_, accumulate);
  }

 private:
  DenseSpace space_;
  Product product_;
};

// With the workspace that cuBLASLt would like, and, where that is another algorithm, without any.
template <typename Kernel>
Ways ways_of(const Context& context, const OpRequest& request) {
  constexpr Bytes kEnough = 32 * kMiB;
  Ways ways{std::make_shared<Kernel>(context, request, std::min(kEnough, request.scratch))};
  ways[0]->implementation = "cublaslt";
  auto without = std::make_shared<Kernel>(context, request, 0);
  if (without->workspace_bytes < ways[0]->workspace_bytes) {
    without->implementation = "cublaslt_without_workspace";
    ways.push_back(std::move(without));
  }
  return ways;
}

}  // namespace

Ways prepare_dense(const Context& context, const OpRequest& request) {
  switch (request.op.kind) {
    case graph::OpKind::kDense:
      return ways_of<Dense>(context, request);
    case graph::OpKind::kDenseBackwardData:
      return ways_of<DenseBackwardData>(context, request);
    case graph::OpKind::kDenseBackwardWeights:
      return ways_of<DenseBackwardWeights>(context, request);
    default:
      return {};
  }
}

}  // namespace sluice::kernels::cuda
