// Functions of one tensor.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "sluice/onnx/convert/converters.hpp"

namespace sluice {
namespace {

template <UnaryFunction Function>
Status convert_plain(Node& node) {
  SLUICE_ASSIGN(const TensorId x, node.tensor(0));
  node.set(node.builder.unary(x, Function));
  return {};
}

Status convert_relu(Node& node) {
  SLUICE_ASSIGN(const TensorId x, node.tensor(0));
  node.set(node.builder.relu(x));
  return {};
}

Status convert_leaky_relu(Node& node) {
  SLUICE_ASSIGN(const TensorId x, node.tensor(0));
  node.set(node.builder.unary(x, UnaryFunction::kLeakyRelu, node.attributes.real("alpha", 0.01F)));
  return {};
}

Status convert_elu(Node& node) {
  SLUICE_ASSIGN(const TensorId x, node.tensor(0));
  node.set(node.builder.unary(x, UnaryFunction::kElu, node.attributes.real("alpha", 1)));
  return {};
}

Status convert_hard_sigmoid(Node& node) {
  SLUICE_ASSIGN(const TensorId x, node.tensor(0));
  const float alpha = node.attributes.real("alpha", 0.2F);
  const float beta = node.attributes.real("beta", 0.5F);
  node.set(node.builder.unary(x, UnaryFunction::kHardSigmoid, alpha, beta));
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
  SLUICE_ASSIGN(const TensorId x, node.tensor(0));
  SLUICE_ASSIGN(const float low, clip_limit(node, 1, "min", std::numeric_limits<float>::lowest()));
  SLUICE_ASSIGN(const float high, clip_limit(node, 2, "max", std::numeric_limits<float>::max()));
  node.set(node.builder.unary(x, UnaryFunction::kClip, low, high));
  return {};
}

Status convert_negate(Node& node) {
  SLUICE_ASSIGN(const TensorId x, node.tensor(0));
  node.set(node.builder.unary(x, UnaryFunction::kLinear, -1, 0));
  return {};
}

Status convert_reciprocal(Node& node) {
  SLUICE_ASSIGN(const TensorId x, node.tensor(0));
  node.set(node.builder.unary(x, UnaryFunction::kPower, -1));
  return {};
}

// log(1 + exp x) = -log(sigmoid(-x)).
Status convert_softplus(Node& node) {
  SLUICE_ASSIGN(const TensorId x, node.tensor(0));
  GraphBuilder& builder = node.builder;
  const TensorId turned = builder.unary(x, UnaryFunction::kLinear, -1, 0);
  const TensorId log = builder.unary(builder.unary(turned, UnaryFunction::kSigmoid), UnaryFunction::kLog);
  node.set(builder.unary(log, UnaryFunction::kLinear, -1, 0));
  return {};
}

Status convert_power(Node& node) {
  SLUICE_ASSIGN(const TensorId x, node.tensor(0));
  SLUICE_ASSIGN(const HostArray exponent, node.array(1));
  if (exponent.count() != 1) return node.error("needs one number as its exponent");
  node.set(node.builder.unary(x, UnaryFunction::kPower, static_cast<float>(exponent.at(0))));
  return {};
}

Status convert_identity(Node& node) {
  node.set(node.value(0));
  return {};
}

bool is_floating(std::int64_t type) {
  return type == onnx::TensorProto::FLOAT || type == onnx::TensorProto::DOUBLE || type == onnx::TensorProto::FLOAT16;
}

// Everything is computed in single precision, ids are integers anyway.
Status convert_cast(Node& node) {
  const Value x = node.value(0);
  const std::int64_t to = node.attributes.integer("to", 0);
  const bool ids = x.kind == Value::Kind::kTensor && node.builder.tensor(x.tensor).dtype == DType::kI32;
  if (ids == is_floating(to)) {
    return node.error(ids ? "turns token ids into floating-point numbers"
                          : "turns the step's floating-point data into integers");
  }
  node.set(x);
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
  table["Softplus"] = convert_softplus;
  table["Pow"] = convert_power;
  table["Identity"] = convert_identity;
  table["Cast"] = convert_cast;
  table["Sigmoid"] = convert_plain<UnaryFunction::kSigmoid>;
  table["Tanh"] = convert_plain<UnaryFunction::kTanh>;
  table["HardSwish"] = convert_plain<UnaryFunction::kHardSwish>;
  table["Erf"] = convert_plain<UnaryFunction::kErf>;
  table["Exp"] = convert_plain<UnaryFunction::kExp>;
  table["Log"] = convert_plain<UnaryFunction::kLog>;
  table["Sqrt"] = convert_plain<UnaryFunction::kSqrt>;
  table["Abs"] = convert_plain<UnaryFunction::kAbs>;
  table["sluice.Silu"] = convert_plain<UnaryFunction::kSilu>;
  table["sluice.Gelu"] = convert_plain<UnaryFunction::kGelu>;
  table["sluice.GeluTanh"] = convert_plain<UnaryFunction::kGeluTanh>;
}

}  // namespace sluice
