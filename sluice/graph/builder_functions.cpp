// The methods of GraphBuilder that make ops without parameters.
#include <algorithm>

#include "sluice/graph/builder.hpp"

namespace sluice {
namespace {

constexpr TensorId kNoTensor = -1;

}  // namespace

TensorId GraphBuilder::local_response_norm(TensorId x, std::int64_t size, float alpha, float beta, float bias) {
  if (!usable({x})) return kNoTensor;
  Attributes attributes;
  attributes.size = size;
  attributes.alpha = alpha;
  attributes.beta = beta;
  attributes.epsilon = bias;
  return add_op(OpKind::kLocalResponseNorm, attributes, {x});
}

TensorId GraphBuilder::relu(TensorId x) { return usable({x}) ? add_op(OpKind::kRelu, {}, {x}) : kNoTensor; }

TensorId GraphBuilder::unary(TensorId x, UnaryFunction function, float alpha, float beta) {
  if (!usable({x})) return kNoTensor;
  Attributes attributes;
  attributes.unary = function;
  attributes.alpha = alpha;
  attributes.beta = beta;
  return add_op(OpKind::kUnary, attributes, {x});
}

TensorId GraphBuilder::add(TensorId a, TensorId b, Activation activation) {
  if (!usable({a, b})) return kNoTensor;
  Attributes attributes;
  attributes.activation = activation;
  return add_op(OpKind::kAdd, attributes, {a, b});
}

TensorId GraphBuilder::binary(TensorId a, TensorId b, BinaryFunction function) {
  if (!usable({a, b})) return kNoTensor;
  if (function == BinaryFunction::kAdd && graph_.tensor(a).shape == graph_.tensor(b).shape) return add(a, b);
  Attributes attributes;
  attributes.binary = function;
  return add_op(OpKind::kBinary, attributes, {a, b});
}

TensorId GraphBuilder::reduce(TensorId x, ReduceFunction function, std::vector<std::int64_t> axes) {
  if (!usable({x})) return kNoTensor;
  Attributes attributes;
  attributes.reduce = function;
  attributes.axes = std::move(axes);
  std::sort(attributes.axes.begin(), attributes.axes.end());
  return add_op(OpKind::kReduce, attributes, {x});
}

TensorId GraphBuilder::reshape(TensorId x, Shape shape) {
  if (!usable({x})) return kNoTensor;
  Attributes attributes;
  attributes.shape = std::move(shape);
  return add_op(OpKind::kReshape, attributes, {x});
}

TensorId GraphBuilder::transpose(TensorId x, std::vector<std::int64_t> axes) {
  if (!usable({x})) return kNoTensor;
  Attributes attributes;
  attributes.axes = std::move(axes);
  return add_op(OpKind::kTranspose, attributes, {x});
}

TensorId GraphBuilder::concat(const std::vector<TensorId>& parts, std::int64_t axis) {
  Attributes attributes;
  attributes.axis = axis;
  return add(OpKind::kConcat, attributes, parts);
}

TensorId GraphBuilder::slice(TensorId x, std::int64_t axis, std::int64_t begin, std::int64_t end) {
  if (!usable({x})) return kNoTensor;
  Attributes attributes;
  attributes.axis = axis;
  attributes.out_begin = begin;
  attributes.out_end = end;
  return add_op(OpKind::kSlice, attributes, {x});
}

TensorId GraphBuilder::max_pool(TensorId x, const PoolOptions& options) {
  if (!usable({x})) return kNoTensor;
  Attributes attributes;
  attributes.window = square_window(options.kernel, options.stride, options.padding);
  return add_op(OpKind::kMaxPool, attributes, {x});
}

TensorId GraphBuilder::avg_pool(TensorId x, const PoolOptions& options) {
  if (!usable({x})) return kNoTensor;
  Attributes attributes;
  attributes.window = square_window(options.kernel, options.stride, options.padding);
  attributes.count_padding = options.count_padding;
  return add_op(OpKind::kAvgPool, attributes, {x});
}

TensorId GraphBuilder::global_avg_pool(TensorId x) {
  if (!usable({x})) return kNoTensor;
  const Shape& shape = graph_.tensor(x).shape;
  Attributes attributes;
  attributes.window.kernel_h = shape.size() == 4 ? shape[2] : 0;
  attributes.window.kernel_w = shape.size() == 4 ? shape[3] : 0;
  return add_op(OpKind::kAvgPool, attributes, {x});
}

TensorId GraphBuilder::matmul(TensorId a, TensorId b, float alpha) {
  if (!usable({a, b})) return kNoTensor;
  Attributes attributes;
  attributes.alpha = alpha;
  return add_op(OpKind::kMatMul, attributes, {a, b});
}

TensorId GraphBuilder::softmax(TensorId x, float scale, bool causal) {
  if (!usable({x})) return kNoTensor;
  Attributes attributes;
  attributes.alpha = scale;
  attributes.causal = causal;
  return add_op(OpKind::kSoftmax, attributes, {x});
}

TensorId GraphBuilder::dropout(TensorId x, float rate) {
  if (!usable({x})) return kNoTensor;
  if (rate == 0) return x;
  Attributes attributes;
  attributes.rate = rate;
  return add_op(OpKind::kDropout, attributes, {x});
}

}  // namespace sluice
