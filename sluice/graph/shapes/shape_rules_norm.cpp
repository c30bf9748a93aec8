// Shape rules of norms.
#include <fmt/format.h>

#include "sluice/graph/shapes/shape_rule.hpp"

namespace sluice::graph {
namespace {

Shape per_channel(const Shape& x) { return {2, x[1]}; }

// The batch has at least `part` elements of each channel, and a multiple of them: slices are equal.
Status expect_size(const ShapeRule& rule, std::int64_t part) {
  const std::int64_t size = rule.as<NormAttributes>().channel_elements;
  if (size >= part && size % part == 0) return {};
  return rule.error(fmt::format("expects a size that is a multiple of {}, got {}", part, size));
}

Result<Shapes> merged_statistics(const ShapeRule& rule) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(2, rule.inputs.size()));
  SLUICE_RETURN_IF_ERROR(rule.expect_rank(0, 2, "[2, C]"));
  const Shape& stats = rule.inputs[0];
  if (stats[0] != 2) return rule.error(fmt::format("expects statistics [2, C], got {}", to_string(stats)));
  for (const Shape& shape : rule.inputs) SLUICE_RETURN_IF_ERROR(rule.expect_shape("statistics", shape, stats));
  SLUICE_RETURN_IF_ERROR(expect_size(rule, std::ssize(rule.inputs) - 1));
  return Shapes{stats, stats};
}

}  // namespace

// The third input are running statistics (kBatchNorm) or a batch's (kBatchNormApply): of one shape.
Result<Shapes> batch_norm_shapes(const ShapeRule& rule) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(3, 4));
  SLUICE_RETURN_IF_ERROR(rule.expect_image(0));
  const Shape& x = rule.inputs[0];
  SLUICE_RETURN_IF_ERROR(rule.expect_shape("scale_shift", rule.inputs[1], per_channel(x)));
  SLUICE_RETURN_IF_ERROR(rule.expect_shape("statistics", rule.inputs[2], per_channel(x)));
  if (rule.inputs.size() == 4) SLUICE_RETURN_IF_ERROR(rule.expect_shape("residual", rule.inputs[3], x));
  if (rule.kind == OpKind::kBatchNormApply) return Shapes{x};
  return Shapes{x, per_channel(x), per_channel(x)};
}

Result<Shapes> batch_norm_part_shapes(const ShapeRule& rule) {
  if (rule.kind == OpKind::kBatchNormMerge) return merged_statistics(rule);
  const bool applies = rule.kind == OpKind::kBatchNormBackwardApply;
  const std::size_t inputs = rule.kind == OpKind::kBatchNormStatistics ? 1 : applies ? 5 : 4;
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(inputs, inputs));
  SLUICE_RETURN_IF_ERROR(rule.expect_image(0));
  const Shape& x = rule.inputs[0];
  if (inputs > 1) SLUICE_RETURN_IF_ERROR(rule.expect_shape("dy", rule.inputs[1], x));
  for (std::size_t i = 2; i < inputs; ++i) {
    SLUICE_RETURN_IF_ERROR(rule.expect_shape(fmt::format("input {}", i), rule.inputs[i], per_channel(x)));
  }
  if (!applies) return Shapes{per_channel(x)};
  SLUICE_RETURN_IF_ERROR(expect_size(rule, element_count(x) / x[1]));
  return Shapes{x};
}

Result<Shapes> layer_norm_shapes(const ShapeRule& rule) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(2, 2));
  const Shape& x = rule.inputs[0];
  if (x.empty()) return rule.error("expects an input [..., C], got a scalar");
  SLUICE_RETURN_IF_ERROR(rule.expect_shape("scale_shift", rule.inputs[1], {2, x.back()}));
  return Shapes{x, {2, element_count(x) / x.back()}};
}

Result<Shapes> local_response_norm_shapes(const ShapeRule& rule) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(1, 1));
  SLUICE_RETURN_IF_ERROR(rule.expect_image(0));
  const std::int64_t channels = rule.as<ResponseNormAttributes>().channels;
  if (channels < 1) {
    return rule.error(fmt::format("expects a size of at least 1 channel, got {}", channels));
  }
  return Shapes{rule.inputs[0]};
}

}  // namespace sluice::graph
