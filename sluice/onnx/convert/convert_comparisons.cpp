// Comparisons, logic, and what goes element by element with a choice in it. Booleans are 0 and 1.
#include <fmt/format.h>

#include <limits>

#include "sluice/onnx/convert/converters.hpp"
#include "sluice/onnx/convert/tensor_ops.hpp"

namespace sluice::onnx {
namespace {

Result<graph::TensorId> compared(Node& node, graph::BinaryFunction function, int first, int second) {
  SLUICE_ASSIGN(const graph::TensorId a, node.tensor(first));
  SLUICE_ASSIGN(const graph::TensorId b, node.tensor(second));
  return combine(node, function, a, b);
}

template <graph::BinaryFunction Function, bool Swapped>
Status convert_comparison(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId y, compared(node, Function, Swapped ? 1 : 0, Swapped ? 0 : 1));
  node.set_integral(y);
  return {};
}

// Of booleans: one but not the other.
Status convert_xor(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId equal, compared(node, graph::BinaryFunction::kEqual, 0, 1));
  node.set_integral(affine(node, equal, -1, 1));
  return {};
}

Status convert_not(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  node.set_integral(affine(node, x, -1, 1));
  return {};
}

Result<std::vector<graph::TensorId>> all_tensors(Node& node) {
  std::vector<graph::TensorId> parts;
  for (int i = 0; i < node.inputs(); ++i) {
    SLUICE_ASSIGN(const graph::TensorId part, node.tensor(i));
    parts.push_back(part);
  }
  return parts;
}

template <graph::BinaryFunction Function>
Status convert_many(Node& node) {
  SLUICE_ASSIGN(const std::vector<graph::TensorId> parts, all_tensors(node));
  SLUICE_ASSIGN(const graph::TensorId y, combine_all(node, Function, parts));
  node.set(y);
  return {};
}

Status convert_mean(Node& node) {
  SLUICE_ASSIGN(const std::vector<graph::TensorId> parts, all_tensors(node));
  SLUICE_ASSIGN(const graph::TensorId sum, combine_all(node, graph::BinaryFunction::kAdd, parts));
  node.set(affine(node, sum, 1 / static_cast<float>(parts.size()), 0));
  return {};
}

Status convert_modulo(Node& node) {
  const bool remainder = node.attributes.integer("fmod", 0) != 0;
  SLUICE_ASSIGN(const graph::TensorId y,
                compared(node, remainder ? graph::BinaryFunction::kRemainder : graph::BinaryFunction::kModulo, 0, 1));
  node.set(y);
  return {};
}

// A number as its exponent is a function of one tensor.
Status convert_power(Node& node) {
  const bool whole = node.is_integral(0);
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  const Value exponent = node.value(1);
  graph::TensorId y = -1;
  if (exponent.kind == Value::Kind::kArray && exponent.array->count() == 1) {
    y = apply(node, graph::UnaryFunction::kPower, x, static_cast<float>(exponent.array->at(0)));
  } else {
    SLUICE_ASSIGN(const graph::TensorId power, node.tensor(1));
    SLUICE_ASSIGN(y, combine(node, graph::BinaryFunction::kPower, x, power));
  }
  if (whole) {
    SLUICE_ASSIGN(y, truncate(node, y));
  }
  node.set(y);
  return {};
}

// x above 0, slope times x below. A slope of fewer dimensions belongs to the last ones.
Status convert_prelu(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  SLUICE_ASSIGN(const graph::TensorId slope, node.tensor(1));
  const graph::TensorId above = node.builder.relu(x);
  const graph::TensorId below = apply(node, graph::UnaryFunction::kClip, x, std::numeric_limits<float>::lowest(), 0);
  SLUICE_ASSIGN(const graph::TensorId scaled, combine(node, graph::BinaryFunction::kMultiply, below, slope));
  SLUICE_ASSIGN(const graph::TensorId y, combine(node, graph::BinaryFunction::kAdd, above, scaled));
  node.set(y);
  return {};
}

}  // namespace

void add_comparison_converters(ConverterTable& table) {
  table["Equal"] = convert_comparison<graph::BinaryFunction::kEqual, false>;
  table["Less"] = convert_comparison<graph::BinaryFunction::kLess, false>;
  table["LessOrEqual"] = convert_comparison<graph::BinaryFunction::kLessOrEqual, false>;
  table["Greater"] = convert_comparison<graph::BinaryFunction::kLess, true>;
  table["GreaterOrEqual"] = convert_comparison<graph::BinaryFunction::kLessOrEqual, true>;
  table["And"] = convert_comparison<graph::BinaryFunction::kMultiply, false>;
  table["Or"] = convert_comparison<graph::BinaryFunction::kMaximum, false>;
  table["Xor"] = convert_xor;
  table["Not"] = convert_not;
  table["Max"] = convert_many<graph::BinaryFunction::kMaximum>;
  table["Min"] = convert_many<graph::BinaryFunction::kMinimum>;
  table["Sum"] = convert_many<graph::BinaryFunction::kAdd>;
  table["Mean"] = convert_mean;
  table["Mod"] = convert_modulo;
  table["Pow"] = convert_power;
  table["PRelu"] = convert_prelu;
}

}  // namespace sluice::onnx
