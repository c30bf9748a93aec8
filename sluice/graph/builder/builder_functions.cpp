// The methods of GraphBuilder that make ops without parameters.
#include <algorithm>

#include "sluice/graph/builder/builder.hpp"

namespace sluice::graph {

TensorId GraphBuilder::local_response_norm(TensorId x, std::int64_t size, float alpha, float beta, float bias) {
  return add(OpKind::kLocalResponseNorm,
             ResponseNormAttributes{.channels = size, .alpha = alpha, .beta = beta, .bias = bias}, {x});
}

TensorId GraphBuilder::relu(TensorId x) { return add(OpKind::kRelu, {}, {x}); }

TensorId GraphBuilder::unary(TensorId x, UnaryFunction function, float alpha, float beta) {
  return add(OpKind::kUnary, UnaryAttributes{.function = function, .alpha = alpha, .beta = beta}, {x});
}

TensorId GraphBuilder::add(TensorId a, TensorId b, Activation activation) {
  return add(OpKind::kAdd, AddAttributes{.activation = activation}, {a, b});
}

TensorId GraphBuilder::binary(TensorId a, TensorId b, BinaryFunction function) {
  if (usable({a, b}) && function == BinaryFunction::kAdd && shape(a) == shape(b)) return add(a, b);
  return add(OpKind::kBinary, BinaryAttributes{.function = function}, {a, b});
}

TensorId GraphBuilder::select(TensorId condition, TensorId a, TensorId b) {
  return add(OpKind::kSelect, {}, {condition, a, b});
}

TensorId GraphBuilder::reduce(TensorId x, ReduceFunction function, std::vector<std::int64_t> axes) {
  std::sort(axes.begin(), axes.end());
  return add(OpKind::kReduce, ReduceAttributes{.function = function, .axes = std::move(axes)}, {x});
}

TensorId GraphBuilder::reshape(TensorId x, Shape shape) {
  return add(OpKind::kReshape, ShapeAttributes{.shape = std::move(shape)}, {x});
}

TensorId GraphBuilder::transpose(TensorId x, std::vector<std::int64_t> axes) {
  return add(OpKind::kTranspose, TransposeAttributes{.axes = std::move(axes)}, {x});
}

TensorId GraphBuilder::concat(const std::vector<TensorId>& parts, std::int64_t axis) {
  return add(OpKind::kConcat, ConcatAttributes{.axis = axis}, parts);
}

TensorId GraphBuilder::slice(TensorId x, std::int64_t axis, std::int64_t begin, std::int64_t end) {
  return add(OpKind::kSlice, PartAttributes{.axis = axis, .begin = begin, .end = end}, {x});
}

TensorId GraphBuilder::sparse_product(TensorId x, std::int64_t axis, SparseMatrix matrix) {
  return add(OpKind::kSparseProduct, SparseAttributes{.axis = axis, .matrix = std::move(matrix)}, {x});
}

TensorId GraphBuilder::to_float(TensorId ids) { return add(OpKind::kCast, {}, {ids}); }

TensorId GraphBuilder::max_pool(TensorId x, const PoolOptions& options) {
  return add(OpKind::kMaxPool, PoolAttributes{.window = square_window(options.kernel, options.stride, options.padding)},
             {x});
}

TensorId GraphBuilder::avg_pool(TensorId x, const PoolOptions& options) {
  const Window window = square_window(options.kernel, options.stride, options.padding);
  return add(OpKind::kAvgPool, PoolAttributes{.window = window, .count_padding = options.count_padding}, {x});
}

TensorId GraphBuilder::global_avg_pool(TensorId x) {
  Window window;
  if (usable({x})) {
    const Shape& image = shape(x);
    window.kernel_h = image.size() == 4 ? image[2] : 0;
    window.kernel_w = image.size() == 4 ? image[3] : 0;
  }
  return add(OpKind::kAvgPool, PoolAttributes{.window = window}, {x});
}

TensorId GraphBuilder::matmul(TensorId a, TensorId b, float alpha) {
  return add(OpKind::kMatMul, ProductAttributes{.factor = alpha}, {a, b});
}

TensorId GraphBuilder::softmax(TensorId x, float scale, bool causal) {
  return add(OpKind::kSoftmax, SoftmaxAttributes{.factor = scale, .causal = causal}, {x});
}

TensorId GraphBuilder::dropout(TensorId x, float rate) {
  if (usable({x}) && rate == 0) return x;
  return add(OpKind::kDropout, DropoutAttributes{.rate = rate}, {x});
}

}  // namespace sluice::graph
