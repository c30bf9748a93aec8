// Activations and mathematical functions that need more than a name: parameters, or a few ops.
#include <fmt/format.h>

#include "sluice/onnx/convert/converters.hpp"
#include "sluice/onnx/convert/tensor_ops.hpp"

namespace sluice::onnx {
namespace {

template <graph::UnaryFunction Function>
Status convert_function(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  node.set(apply(node, Function, x));
  return {};
}

Status convert_shrink(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  const float lambda = node.attributes.real("lambd", 0.5F);
  node.set(apply(node, graph::UnaryFunction::kShrink, x, lambda, node.attributes.real("bias", 0)));
  return {};
}

Status convert_thresholded_relu(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  node.set(apply(node, graph::UnaryFunction::kThreshold, x, node.attributes.real("alpha", 1)));
  return {};
}

// alpha ELU(x / alpha) with an ELU of 1
Status convert_celu(Node& node) {
  const float alpha = node.attributes.real("alpha", 1);
  if (alpha == 0) return node.error("needs the attribute alpha not to be 0");
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  const graph::TensorId inner = apply(node, graph::UnaryFunction::kElu, affine(node, x, 1 / alpha, 0), 1);
  node.set(affine(node, inner, alpha, 0));
  return {};
}

Status convert_selu(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  const float alpha = node.attributes.real("alpha", 1.67326319F);
  const float gamma = node.attributes.real("gamma", 1.05070102F);
  node.set(affine(node, apply(node, graph::UnaryFunction::kElu, x, alpha), gamma, 0));
  return {};
}

Status convert_gelu(Node& node) {
  const std::string approximate = node.attributes.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh") {
    return node.error(fmt::format("needs the attribute approximate to be none or tanh, not {}", approximate));
  }
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  node.set(apply(node, approximate == "none" ? graph::UnaryFunction::kGelu : graph::UnaryFunction::kGeluTanh, x));
  return {};
}

// log(x + sqrt((x - 1) (x + 1)))
Status convert_acosh(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  SLUICE_ASSIGN(const graph::TensorId squares,
                combine(node, graph::BinaryFunction::kMultiply, affine(node, x, 1, -1), affine(node, x, 1, 1)));
  SLUICE_ASSIGN(const graph::TensorId sum,
                combine(node, graph::BinaryFunction::kAdd, x, apply(node, graph::UnaryFunction::kSqrt, squares)));
  node.set(apply(node, graph::UnaryFunction::kLog, sum));
  return {};
}

Status convert_is_nan(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  node.set_integral(apply(node, graph::UnaryFunction::kIsNan, x));
  return {};
}

Status convert_is_infinite(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  const bool below = node.attributes.integer("detect_negative", 1) != 0;
  const bool above = node.attributes.integer("detect_positive", 1) != 0;
  node.set_integral(apply(node, graph::UnaryFunction::kIsInfinite, x, below ? 1 : 0, above ? 1 : 0));
  return {};
}

}  // namespace

void add_function_converters(ConverterTable& table) {
  using enum graph::UnaryFunction;
  table["Softplus"] = convert_function<kSoftplus>;
  table["Mish"] = convert_function<kMish>;
  table["Softsign"] = convert_function<kSoftsign>;
  table["Sin"] = convert_function<kSin>;
  table["Cos"] = convert_function<kCos>;
  table["Tan"] = convert_function<kTan>;
  table["Asin"] = convert_function<kAsin>;
  table["Acos"] = convert_function<kAcos>;
  table["Atan"] = convert_function<kAtan>;
  table["Sinh"] = convert_function<kSinh>;
  table["Cosh"] = convert_function<kCosh>;
  table["Asinh"] = convert_function<kAsinh>;
  table["Acosh"] = convert_acosh;
  table["Atanh"] = convert_function<kAtanh>;
  table["Sign"] = convert_function<kSign>;
  table["Floor"] = convert_function<kFloor>;
  table["Ceil"] = convert_function<kCeil>;
  table["Round"] = convert_function<kRound>;
  table["IsNaN"] = convert_is_nan;
  table["IsInf"] = convert_is_infinite;
  table["Shrink"] = convert_shrink;
  table["ThresholdedRelu"] = convert_thresholded_relu;
  table["Celu"] = convert_celu;
  table["Selu"] = convert_selu;
  table["Gelu"] = convert_gelu;
}

}  // namespace sluice::onnx
