// Batched products of permuted operands: each lies as it is, and cuBLASLt is told its strides.
//
// After their permutations the operands are [..., M, K], [..., K, N] and [..., M, N]. cuBLASLt takes one stride from
// product to product. So leading dimensions are merged where all three operands allow it, the longest that is left is
// cuBLASLt's batch, and a loop goes through the others.
#include <algorithm>
#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/kernels/cuda/prepared_op.hpp"
#include "sluice/kernels/cuda/product.hpp"

namespace sluice::kernels::cuda {
namespace {

std::vector<std::int64_t> strides_of(const graph::Shape& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

// Extents and strides as the permutation shows them: dimension i is dimension axes[i] of what is stored.
struct Permuted {
  graph::Shape extents, strides;

  Permuted(const graph::Shape& stored, const graph::Shape& axes) {
    const std::vector<std::int64_t> all = strides_of(stored);
    for (std::size_t d = 0; d < stored.size(); ++d) {
      const std::size_t from = axes.empty() ? d : as_index(axes[d]);
      extents.push_back(stored[from]);
      strides.push_back(all[from]);
    }
  }
};

// y is the product transposed by `axes`: what dimension i of y shows is dimension axes[i] of the product.
Permuted product_of(const graph::Shape& y, const graph::Shape& axes) {
  Permuted result(y, {});
  if (axes.empty()) return result;
  const Permuted stored = result;
  for (std::size_t d = 0; d < y.size(); ++d) {
    result.extents[as_index(axes[d])] = stored.extents[d];
    result.strides[as_index(axes[d])] = stored.strides[d];
  }
  return result;
}

// One leading dimension, with the elements from one product's operand to the next one's.
struct BatchDimension {
  std::int64_t extent = 1;
  std::int64_t a = 0, b = 0, c = 0;
};

std::vector<BatchDimension> batch_dimensions(const Permuted& a, const Permuted& b, const Permuted& c) {
  std::vector<BatchDimension> merged;
  for (std::size_t d = 0; d + 2 < c.extents.size(); ++d) {
    const BatchDimension next{c.extents[d], a.strides[d], b.strides[d], c.strides[d]};
    if (next.extent == 1) continue;
    BatchDimension* const last = merged.empty() ? nullptr : &merged.back();
    if (last != nullptr && last->a == next.a * next.extent && last->b == next.b * next.extent &&
        last->c == next.c * next.extent) {
      *last = {last->extent * next.extent, next.a, next.b, next.c};
    } else {
      merged.push_back(next);
    }
  }
  return merged;
}

// The last two dimensions as rows with a pitch. One of them must have its elements side by side.
MatrixLayout matrix_layout(const Permuted& operand) {
  const std::size_t rank = operand.extents.size();
  const std::int64_t row = operand.strides[rank - 2];
  const std::int64_t column = operand.strides[rank - 1];
  const bool along_rows = column == 1 || operand.extents[rank - 1] == 1;
  if (!along_rows && row != 1 && operand.extents[rank - 2] != 1)
    throw gpu::CudaFailure("a product's operand has no dimension whose elements lie side by side");
  // A dimension of one element has any stride: it is given the least that cuBLASLt accepts.
  if (along_rows) return {std::max(row, operand.extents[rank - 1]), false};
  return {std::max(column, operand.extents[rank - 2]), true};
}

class MatMul : public PreparedOp {
 public:
  MatMul(const Context& context, const OpRequest& request, Bytes scratch)
      : alpha_(request.op.as<graph::ProductAttributes>().factor) {
    const graph::ProductAttributes& attributes = request.op.as<graph::ProductAttributes>();
    const Permuted a(request.inputs[0], attributes.perm_a);
    const Permuted b(request.inputs[1], attributes.perm_b);
    const Permuted c = product_of(request.outputs[0], attributes.perm_y);
    const std::size_t rank = c.extents.size();
    loops_ = batch_dimensions(a, b, c);
    std::ranges::stable_sort(loops_, {}, &BatchDimension::extent);
    BatchDimension batch;
    if (!loops_.empty()) {
      batch = loops_.back();
      loops_.pop_back();
    }
    ProductShape shape{.rows = c.extents[rank - 2],
                       .columns = c.extents[rank - 1],
                       .depth = a.extents[rank - 1],
                       .batches = batch.extent,
                       .a = matrix_layout(a),
                       .b = matrix_layout(b),
                       .c = matrix_layout(c),
                       .factors = request.input_types[0],
                       .result = request.output_types[0]};
    shape.a.batch_stride = batch.a;
    shape.b.batch_stride = batch.b;
    shape.c.batch_stride = batch.c;
    shape.alignment = alignment_with(batch);
    turned_ = shape.c.transposed;
    product_ = std::make_unique<Product>(context, turned_ ? turned(shape) : shape, scratch);
    workspace_bytes = product_->workspace_bytes();
  }

  void run(const CudaCall& call) override {
    run_loops(call, 0, {.a = call.input(0).data, .b = call.input(1).data, .c = call.output(0).data, .alpha = alpha_});
  }

 private:
  // C' = B' A', for a result that is stored transposed.
  static ProductShape turned(ProductShape shape) {
    std::swap(shape.rows, shape.columns);
    std::swap(shape.a, shape.b);
    shape.a.transposed = !shape.a.transposed;
    shape.b.transposed = !shape.b.transposed;
    shape.c.transposed = false;
    return shape;
  }

  std::int64_t alignment_with(const BatchDimension& batch) const {
    std::int64_t all = 64;
    const auto add = [&](const BatchDimension& dimension) {
      for (const std::int64_t stride : {dimension.a, dimension.b, dimension.c}) all = std::gcd(all, stride);
    };
    add(batch);
    std::ranges::for_each(loops_, add);
    return all;
  }

  void run_loops(const CudaCall& call, std::size_t level, const Product::Operands& at) const {
    if (level == loops_.size()) {
      Product::Operands operands = at;
      if (turned_) std::swap(operands.a, operands.b);
      product_->run(operands, call.workspace, call.stream);
      return;
    }
    const BatchDimension& loop = loops_[level];
    const auto moved = [](const void* data, std::int64_t elements, const Operand& operand) {
      return static_cast<const std::byte*>(data) + elements * size_of(operand.dtype);
    };
    for (std::int64_t i = 0; i < loop.extent; ++i) {
      Product::Operands next = at;
      next.a = moved(at.a, i * loop.a, call.input(0));
      next.b = moved(at.b, i * loop.b, call.input(1));
      next.c = static_cast<std::byte*>(at.c) + i * loop.c * size_of(call.output(0).dtype);
      run_loops(call, level + 1, next);
    }
  }

  float alpha_;
  std::vector<BatchDimension> loops_;  // the shortest first
  bool turned_ = false;
  std::unique_ptr<Product> product_;
};

}  // namespace

Ways prepare_matmul(const Context& context, const OpRequest& request) {
  if (request.op.kind != graph::OpKind::kMatMul) return {};
  constexpr Bytes kEnough = 32 * kMiB;
  auto way = std::make_shared<MatMul>(context, request, std::min(kEnough, request.scratch));
  way->implementation = "cublaslt";
  return {way};
}

}  // namespace sluice::kernels::cuda
