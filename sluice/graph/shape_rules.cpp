#include "sluice/graph/shape_rules.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sluice {
namespace {

using Shapes = std::vector<Shape>;

// One op's inputs, with the checks that all rules share.
struct Rule {
  OpKind kind;
  const Attributes& attributes;
  std::span<const Shape> inputs;

  Error error(const std::string& detail) const {
    return {ErrorCode::kBadInput, fmt::format("{}: {}", to_string(kind), detail)};
  }

  Status expect_inputs(std::size_t at_least, std::size_t at_most) const {
    if (inputs.size() < at_least || inputs.size() > at_most) {
      return error(fmt::format("expects {} to {} inputs, got {}", at_least, at_most, inputs.size()));
    }
    for (const Shape& shape : inputs) {
      if (std::any_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent < 1; })) {
        return error(fmt::format("expects extents of at least 1, got {}", to_string(shape)));
      }
    }
    return {};
  }

  Status expect_image(std::size_t input) const {
    if (inputs[input].size() == 4) return {};
    return error(fmt::format("expects an image tensor [N, C, H, W], got {}", to_string(inputs[input])));
  }

  Status expect_shape(std::string_view what, const Shape& got, const Shape& expected) const {
    if (got == expected) return {};
    return error(fmt::format("expects {} of shape {}, got {}", what, to_string(expected), to_string(got)));
  }
};

Result<std::int64_t> window_count(const Rule& rule, std::int64_t extent, std::int64_t kernel) {
  const auto& [stride, padding] = std::pair(rule.attributes.stride, rule.attributes.padding);
  if (kernel < 1 || stride < 1 || padding < 0 || padding >= kernel) {
    return rule.error(
        fmt::format("expects kernel >= 1, stride >= 1 and 0 <= padding < kernel, got kernel {}, "
                    "stride {}, padding {}",
                    kernel, stride, padding));
  }
  if (extent + 2 * padding < kernel) {
    return rule.error(fmt::format("expects an image of at least {} pixels a side for kernel {} and padding {}, got {}",
                                  kernel - 2 * padding, kernel, padding, extent));
  }
  return (extent + 2 * padding - kernel) / stride + 1;
}

Result<Shape> windows(const Rule& rule, std::int64_t channels) {
  SLUICE_RETURN_IF_ERROR(rule.expect_image(0));
  const Shape& x = rule.inputs[0];
  SLUICE_ASSIGN(const std::int64_t height, window_count(rule, x[2], rule.attributes.kernel_h));
  SLUICE_ASSIGN(const std::int64_t width, window_count(rule, x[3], rule.attributes.kernel_w));
  return Shape{x[0], channels, height, width};
}

Result<Shapes> conv2d(const Rule& rule) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(2, 3));
  SLUICE_RETURN_IF_ERROR(rule.expect_image(0));
  const Shape& weight = rule.inputs[1];
  if (weight.empty()) return rule.error("expects weights [O, I, KH, KW], got a scalar");
  const Shape expected = {weight[0], rule.inputs[0][1], rule.attributes.kernel_h, rule.attributes.kernel_w};
  SLUICE_RETURN_IF_ERROR(rule.expect_shape("weights", weight, expected));
  if (rule.inputs.size() == 3) {
    SLUICE_RETURN_IF_ERROR(rule.expect_shape("bias", rule.inputs[2], {weight[0]}));
  }
  SLUICE_ASSIGN(Shape y, windows(rule, weight[0]));
  return Shapes{std::move(y)};
}

Result<Shapes> batch_norm(const Rule& rule) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(3, 3));
  SLUICE_RETURN_IF_ERROR(rule.expect_image(0));
  const Shape& x = rule.inputs[0];
  const Shape per_channel = {2, x[1]};
  SLUICE_RETURN_IF_ERROR(rule.expect_shape("scale_shift", rule.inputs[1], per_channel));
  SLUICE_RETURN_IF_ERROR(rule.expect_shape("running statistics", rule.inputs[2], per_channel));
  Shapes outputs = {x, per_channel, per_channel};
  if (rule.attributes.relu) outputs.push_back(x);
  return outputs;
}

Result<Shapes> same_shape(const Rule& rule, std::size_t inputs, std::size_t outputs) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(inputs, inputs));
  for (std::size_t i = 1; i < inputs; ++i) {
    SLUICE_RETURN_IF_ERROR(rule.expect_shape(fmt::format("input {}", i), rule.inputs[i], rule.inputs[0]));
  }
  return Shapes(outputs, rule.inputs[0]);
}

Result<Shapes> pool(const Rule& rule) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(1, 1));
  SLUICE_RETURN_IF_ERROR(rule.expect_image(0));
  SLUICE_ASSIGN(const Shape y, windows(rule, rule.inputs[0][1]));
  if (rule.kind == OpKind::kAvgPool) return Shapes{y};
  if (rule.attributes.kernel_h * rule.attributes.kernel_w > 255) {
    return rule.error(fmt::format("expects at most 255 pixels a window, because an index is one byte; got {}x{}",
                                  rule.attributes.kernel_h, rule.attributes.kernel_w));
  }
  return Shapes{y, y};
}

Result<Shapes> dense(const Rule& rule) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(2, 3));
  const Shape& x = rule.inputs[0];
  const Shape& weight = rule.inputs[1];
  if (x.size() < 2 || weight.empty()) {
    return rule.error(fmt::format("expects an input [N, features...], got {}", to_string(x)));
  }
  SLUICE_RETURN_IF_ERROR(rule.expect_shape("weights", weight, {weight[0], element_count(x) / x[0]}));
  if (rule.inputs.size() == 3) {
    SLUICE_RETURN_IF_ERROR(rule.expect_shape("bias", rule.inputs[2], {weight[0]}));
  }
  return Shapes{{x[0], weight[0]}};
}

Result<Shapes> softmax_cross_entropy(const Rule& rule) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(2, 2));
  const Shape& logits = rule.inputs[0];
  if (logits.size() != 2) return rule.error(fmt::format("expects logits [N, classes], got {}", to_string(logits)));
  SLUICE_RETURN_IF_ERROR(rule.expect_shape("labels", rule.inputs[1], {logits[0]}));
  return Shapes{{1}, logits};
}

}  // namespace

Result<Shapes> infer_shapes(OpKind kind, const Attributes& attributes, std::span<const Shape> inputs) {
  const Rule rule{kind, attributes, inputs};
  switch (kind) {
    case OpKind::kConv2d:
      return conv2d(rule);
    case OpKind::kBatchNorm:
      return batch_norm(rule);
    case OpKind::kRelu:
    case OpKind::kReorder:
      return same_shape(rule, 1, 1);
    case OpKind::kAdd:
      return same_shape(rule, 2, 1);
    case OpKind::kMaxPool:
    case OpKind::kAvgPool:
      return pool(rule);
    case OpKind::kDense:
      return dense(rule);
    case OpKind::kSoftmaxCrossEntropy:
      return softmax_cross_entropy(rule);
    case OpKind::kSgdUpdate:
      return same_shape(rule, 3, 2);
    default:
      return rule.error("has no forward shape rule");
  }
}

}  // namespace sluice
