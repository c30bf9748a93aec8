// Functions of one tensor.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "sluice/onnx/convert/converters.hpp"
#include "sluice/onnx/convert/tensor_ops.hpp"
#include "sluice/onnx/model/element_type.hpp"

namespace sluice::onnx {
namespace {

template <graph::UnaryFunction Function>
Status convert_plain(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  node.set(node.builder.unary(x, Function));
  return {};
}

Status convert_relu(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  node.set(node.builder.relu(x));
  return {};
}

Status convert_leaky_relu(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  node.set(node.builder.unary(x, graph::UnaryFunction::kLeakyRelu, node.attributes.real("alpha", 0.01F)));
  return {};
}

Status convert_elu(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  node.set(node.builder.unary(x, graph::UnaryFunction::kElu, node.attributes.real("alpha", 1)));
  return {};
}

Status convert_hard_sigmoid(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  const float alpha = node.attributes.real("alpha", 0.2F);
  const float beta = node.attributes.real("beta", 0.5F);
  node.set(node.builder.unary(x, graph::UnaryFunction::kHardSigmoid, alpha, beta));
  return {};
}

Result<float> clip_limit(Node& node, int input, const char* attribute, float otherwise) {
  if (node.opset() < 11) return node.attributes.real(attribute, otherwise);
  if (!node.has(input)) return otherwise;
  SLUICE_ASSIGN(const HostArray given, node.array(input));
  if (given.count() != 1) return node.error(fmt::format("needs one number as input {}", input));
  return static_cast<float>(given.at(0));
}

Status convert_clip(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  SLUICE_ASSIGN(const float low, clip_limit(node, 1, "min", std::numeric_limits<float>::lowest()));
  SLUICE_ASSIGN(const float high, clip_limit(node, 2, "max", std::numeric_limits<float>::max()));
  node.set(node.builder.unary(x, graph::UnaryFunction::kClip, low, high));
  return {};
}

Status convert_negate(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  node.set(node.builder.unary(x, graph::UnaryFunction::kLinear, -1, 0));
  return {};
}

Status convert_reciprocal(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  node.set(node.builder.unary(x, graph::UnaryFunction::kPower, -1));
  return {};
}

Status convert_identity(Node& node) {
  node.set(node.value(0));
  return {};
}

// 1 where x is not 0.
Status set_truth(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  SLUICE_ASSIGN(const graph::TensorId zero, constant(node, filled(graph::Shape{1}, 0.0F), ".zero"));
  SLUICE_ASSIGN(const graph::TensorId is_zero, combine(node, graph::BinaryFunction::kEqual, x, zero));
  node.set_integral(affine(node, is_zero, -1, 1));
  return {};
}

// Everything is computed in single precision; integers and booleans are numbers of it, too.
Status set_cast(Node& node, std::int64_t to) {
  if (to == ::onnx::TensorProto::STRING) return node.error("casts to text");
  if (!is_floating_type(to) && !is_whole_type(to)) return node.error(fmt::format("casts to the type {}", to));
  if (to == ::onnx::TensorProto::BOOL) return set_truth(node);
  Value x = node.value(0);
  const bool ids = x.kind == Value::Kind::kTensor && node.builder.tensor(x.tensor).dtype == graph::DType::kI32;
  if (is_floating_type(to) && ids) {
    SLUICE_ASSIGN(const graph::TensorId numbers, node.tensor(0));
    node.set(numbers);
  } else if (is_floating_type(to)) {
    x.integral = false;
    node.set(x);
  } else if (ids || x.integral) {
    node.set(x);
  } else {
    SLUICE_ASSIGN(const graph::TensorId numbers, node.tensor(0));
    SLUICE_ASSIGN(const graph::TensorId whole, truncate(node, numbers));
    node.set_integral(whole);
  }
  return {};
}

Status convert_cast(Node& node) {
  node.attributes.ignore("saturate");  // of 8-bit floating-point types
  return set_cast(node, node.attributes.integer("to", 0));
}

Status convert_cast_like(Node& node) {
  node.attributes.ignore("saturate");
  if (!node.is_integral(1)) return set_cast(node, ::onnx::TensorProto::FLOAT);
  if (!node.is_integral(0)) return node.error("casts numbers like integers or booleans");
  node.set(node.value(0));
  return {};
}

}  // namespace

void add_unary_converters(ConverterTable& table) {
  table["Relu"] = convert_relu;
  table["LeakyRelu"] = convert_leaky_relu;
  table["Elu"] = convert_elu;
  table["HardSigmoid"] = convert_hard_sigmoid;
  table["Clip"] = convert_clip;
  table["Neg"] = convert_negate;
  table["Reciprocal"] = convert_reciprocal;
  table["Identity"] = convert_identity;
  table["Cast"] = {convert_cast, "between numbers and booleans; all are computed in single precision"};
  table["CastLike"] = convert_cast_like;
  table["Sigmoid"] = convert_plain<graph::UnaryFunction::kSigmoid>;
  table["Tanh"] = convert_plain<graph::UnaryFunction::kTanh>;
  table["HardSwish"] = convert_plain<graph::UnaryFunction::kHardSwish>;
  table["Erf"] = convert_plain<graph::UnaryFunction::kErf>;
  table["Exp"] = convert_plain<graph::UnaryFunction::kExp>;
  table["Log"] = convert_plain<graph::UnaryFunction::kLog>;
  table["Sqrt"] = convert_plain<graph::UnaryFunction::kSqrt>;
  table["Abs"] = convert_plain<graph::UnaryFunction::kAbs>;
  table["sluice.Silu"] = convert_plain<graph::UnaryFunction::kSilu>;
  table["sluice.Gelu"] = convert_plain<graph::UnaryFunction::kGelu>;
  table["sluice.GeluTanh"] = convert_plain<graph::UnaryFunction::kGeluTanh>;
}

}  // namespace sluice::onnx
