// Dense layers and matrix products.
#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/onnx/convert/converters.hpp"

namespace sluice::onnx {
namespace {

using Kind = Value::Kind;

// The other operand of an Add after the node, when it is a vector from the file: a bias of `features`.
Weights bias_after(Node& node, std::int64_t features, const ::onnx::NodeProto*& add) {
  add = node.only_reader("Add");
  if (add == nullptr || add->input_size() != 2) return nullptr;
  const std::string& other = add->input(add->input(0) == node.proto.output(0) ? 1 : 0);
  const Value value = node.conversion.value(other);
  const graph::Shape wanted = {features};
  if (value.kind == Kind::kWeights && value.weights->shape == wanted) return value.weights;
  const TensorSource* source = node.conversion.initializers.find(other);  // a bias of one feature
  const bool single = source != nullptr && !source->is_integer() && source->shape == wanted;
  return single ? initializer_weights(other, wanted) : nullptr;
}

// y = x w^T + bias, w [out, in].
Result<graph::TensorId> dense(Node& node, graph::TensorId x, const Weights& weight, const Weights& bias) {
  SLUICE_ASSIGN(const graph::TensorId w, node.conversion.parameter(weight, node.name() + ".weight"));
  std::vector<graph::TensorId> inputs = {x, w};
  if (bias != nullptr) {
    SLUICE_ASSIGN(const graph::TensorId b, node.conversion.parameter(bias, node.name() + ".bias"));
    inputs.push_back(b);
  }
  return node.add(graph::OpKind::kDense, {}, inputs);
}

Result<graph::TensorId> grown(Node& node, graph::TensorId x, const graph::Shape& shape) {
  graph::Shape from = node.builder.shape(x);
  from.insert(from.begin(), shape.size() - from.size(), 1);
  if (from != node.builder.shape(x)) x = node.builder.reshape(x, from);
  if (from == shape) return x;
  graph::ShapeAttributes attributes;
  attributes.shape = shape;
  return node.add(graph::OpKind::kBroadcast, attributes, {x});
}

// The product's factor, when a multiplication by a number follows.
float absorb_factor(Node& node) {
  for (const char* op : {"Div", "Mul"}) {
    const ::onnx::NodeProto* reader = node.only_reader(op);
    if (reader == nullptr || reader->input_size() != 2) continue;
    const bool first = reader->input(0) == node.proto.output(0);
    const auto number = node.conversion.network.number(reader->input(first ? 1 : 0), node.conversion.initializers);
    const bool divides = reader->op_type() == "Div";
    if (!number || *number == 0 || (divides && !first)) continue;
    node.absorb_reader(*reader);
    return divides ? 1 / *number : *number;
  }
  return 1;
}

Status product(Node& node, graph::TensorId a, graph::TensorId b) {
  graph::GraphBuilder& builder = node.builder;
  const graph::Shape shape_a = builder.shape(a);
  const graph::Shape shape_b = builder.shape(b);
  const std::size_t rank = std::max(shape_a.size(), shape_b.size());
  if (std::min(shape_a.size(), shape_b.size()) < 2) return node.error("multiplies a vector; it must be a matrix");
  graph::ProductAttributes scaled;
  scaled.factor = absorb_factor(node);
  if (shape_b.size() == 2 && rank > 2) {
    graph::Shape y = shape_a;
    y.back() = shape_b[1];
    const graph::TensorId rows = builder.reshape(a, {graph::element_count(shape_a) / shape_a.back(), shape_a.back()});
    SLUICE_ASSIGN(const graph::TensorId made, node.add(graph::OpKind::kMatMul, scaled, {rows, b}));
    node.set(builder.reshape(made, y));
    return {};
  }
  graph::Shape leading_a = shape_a;
  graph::Shape leading_b = shape_b;
  leading_a.insert(leading_a.begin(), rank - shape_a.size(), 1);
  leading_b.insert(leading_b.begin(), rank - shape_b.size(), 1);
  for (std::size_t d = 0; d + 2 < rank; ++d) {
    if (leading_a[d] == 1) leading_a[d] = leading_b[d];
    if (leading_b[d] == 1) leading_b[d] = leading_a[d];
  }
  SLUICE_ASSIGN(a, grown(node, a, leading_a));
  SLUICE_ASSIGN(b, grown(node, b, leading_b));
  SLUICE_ASSIGN(const graph::TensorId y, node.add(graph::OpKind::kMatMul, scaled, {a, b}));
  node.set(y);
  return {};
}

Status convert_matmul(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  const Value b = node.value(1);
  const bool is_dense = b.kind == Kind::kWeights && b.weights->shape.size() == 2;
  if (!is_dense) {
    SLUICE_ASSIGN(const graph::TensorId y, node.tensor(1));
    return product(node, x, y);
  }
  const graph::Shape& shape = node.builder.shape(x);
  if (shape.size() < 2 || shape.back() != b.weights->shape[0]) {
    return node.error(fmt::format("multiplies {} by {}", graph::to_string(shape), graph::to_string(b.weights->shape)));
  }
  const ::onnx::NodeProto* add = nullptr;
  const Weights bias = bias_after(node, b.weights->shape[1], add);
  SLUICE_ASSIGN(const graph::TensorId y, dense(node, x, transposed_weights(b.weights, {1, 0}), bias));
  if (bias != nullptr) node.absorb_reader(*add);
  node.set(y);
  return {};
}

Result<graph::TensorId> gemm_operand(Node& node, int input, bool transposed) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(input));
  return transposed ? node.builder.transpose(x, {1, 0}) : x;
}

// The bias of a Gemm as a vector; null when it is of another form.
Weights gemm_bias(Node& node, std::int64_t features) {
  const auto bias = node.weights(2, 1);
  if (bias.ok() && (*bias)->shape[0] == features) return *bias;
  const auto row = node.weights(2, 2);
  return row.ok() && (*row)->shape == graph::Shape{1, features} ? reshaped_weights(*row, {features}) : nullptr;
}

Status convert_gemm(Node& node) {
  const float alpha = node.attributes.real("alpha", 1);
  const float beta = node.attributes.real("beta", 1);
  const bool transpose_a = node.attributes.integer("transA", 0) != 0;
  const bool transpose_b = node.attributes.integer("transB", 0) != 0;
  SLUICE_ASSIGN(const graph::Shape shape_a, node.shape(0));
  SLUICE_ASSIGN(const graph::Shape shape_b, node.shape(1));
  if (shape_a.size() != 2 || shape_b.size() != 2 || shape_a[transpose_a ? 0 : 1] != shape_b[transpose_b ? 1 : 0]) {
    return node.error(fmt::format("multiplies {} by {}", graph::to_string(shape_a), graph::to_string(shape_b)));
  }
  SLUICE_ASSIGN(const graph::TensorId a, gemm_operand(node, 0, transpose_a));
  graph::TensorId y = -1;
  bool biased = !node.has(2) || beta == 0;
  if (const Result<Weights> weight = node.weights(1, 2); weight.ok()) {
    const Weights bias = !biased && alpha == 1 && beta == 1 ? gemm_bias(node, shape_b[transpose_b ? 0 : 1]) : nullptr;
    biased = biased || bias != nullptr;
    SLUICE_ASSIGN(y, dense(node, a, transpose_b ? *weight : transposed_weights(*weight, {1, 0}), bias));
  } else {
    SLUICE_ASSIGN(const graph::TensorId b, gemm_operand(node, 1, transpose_b));
    graph::ProductAttributes plain;
    plain.factor = 1;
    SLUICE_ASSIGN(y, node.add(graph::OpKind::kMatMul, plain, {a, b}));
  }
  if (alpha != 1) y = node.builder.unary(y, graph::UnaryFunction::kLinear, alpha, 0);
  if (!biased) {
    SLUICE_ASSIGN(graph::TensorId c, node.tensor(2));
    if (beta != 1) c = node.builder.unary(c, graph::UnaryFunction::kLinear, beta, 0);
    SLUICE_ASSIGN(y, node.add(graph::OpKind::kBinary, {}, {y, c}));  // kAdd is the default function
  }
  node.set(y);
  return {};
}

}  // namespace

void add_matrix_converters(ConverterTable& table) {
  table["MatMul"] = convert_matmul;
  table["Gemm"] = convert_gemm;
}

}  // namespace sluice::onnx
