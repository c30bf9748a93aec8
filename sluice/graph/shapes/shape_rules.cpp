#include "sluice/graph/shapes/shape_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/graph/shapes/shape_rule.hpp"

namespace sluice::graph {

Error ShapeRule::error(const std::string& detail) const {
  return {ErrorCode::kBadInput, fmt::format("{}: {}", to_string(kind), detail)};
}

Status ShapeRule::expect_inputs(std::size_t at_least, std::size_t at_most) const {
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

Status ShapeRule::expect_rank(std::size_t input, std::size_t rank, std::string_view form) const {
  if (inputs[input].size() == rank) return {};
  return error(fmt::format("expects input {} to be {}, got {}", input, form, to_string(inputs[input])));
}

Status ShapeRule::expect_shape(std::string_view what, const Shape& got, const Shape& expected) const {
  if (got == expected) return {};
  return error(fmt::format("expects {} of shape {}, got {}", what, to_string(expected), to_string(got)));
}

Status ShapeRule::expect_axis(std::int64_t axis) const {
  if (axis >= 0 && axis < std::ssize(inputs[0])) return {};
  return error(fmt::format("expects an axis of {}, got {}", to_string(inputs[0]), axis));
}

namespace {

Result<Shapes> all_of_one_shape(const ShapeRule& rule, std::size_t inputs, std::size_t outputs) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(inputs, inputs));
  for (std::size_t i = 1; i < inputs; ++i) {
    SLUICE_RETURN_IF_ERROR(rule.expect_shape(fmt::format("input {}", i), rule.inputs[i], rule.inputs[0]));
  }
  return Shapes(outputs, rule.inputs[0]);
}

// Of a slice of the rows, all labels are given, in whatever shape.
Status expect_labels(const ShapeRule& rule, const Shape& logits, const Shape& labels) {
  const auto [begin, end] = std::pair(rule.slice.begin, rule.slice.end);
  if (end == 0) return rule.expect_shape("labels", labels, {logits.begin(), logits.end() - 1});
  const std::int64_t rows = element_count(logits) / logits.back();
  if (begin >= 0 && end - begin == rows && end <= element_count(labels)) return {};
  return rule.error(
      fmt::format("logits {} are not those of labels {}:{} of {}", to_string(logits), begin, end, to_string(labels)));
}

}  // namespace

Result<Shapes> no_shapes(const ShapeRule& rule) { return rule.error("has no shape rule"); }

Result<Shapes> same_shape(const ShapeRule& rule) { return all_of_one_shape(rule, 1, 1); }
Result<Shapes> same_shape_of_two(const ShapeRule& rule) { return all_of_one_shape(rule, 2, 1); }

Result<Shapes> update_shapes(const ShapeRule& rule) {
  const std::size_t moments = moments_of(rule.kind);
  return all_of_one_shape(rule, 2 + moments, 1 + moments);
}

Result<Shapes> part_of_ranks(const ShapeRule& rule) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(1, 1));
  const std::int64_t ranks = rule.as<RanksAttributes>().ranks;
  if (ranks < 1) return rule.error("expects ranks");
  return Shapes{{part_elements(element_count(rule.inputs[0]), ranks)}};
}

Result<Shapes> all_of_ranks(const ShapeRule& rule) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(1, 1));
  const auto& [ranks, factor, whole] = rule.as<RanksAttributes>();
  if (ranks < 1) return rule.error("expects ranks");
  const Shape part{part_elements(element_count(whole), ranks)};
  SLUICE_RETURN_IF_ERROR(rule.expect_shape("a part", rule.inputs[0], part));
  return Shapes{whole};
}

Result<Shapes> clip_factor_shapes(const ShapeRule& rule) {
  const auto& [norm, epsilon, ranks, scaled] = rule.as<ClipAttributes>();
  if (rule.inputs.size() < (scaled ? 3U : 1U)) return rule.error("expects the sums of some gradients");
  if (!(norm > 0) && !scaled) {
    return rule.error(fmt::format("expects a norm above 0, got {}", norm));
  }
  for (std::size_t i = 0; i < rule.inputs.size(); ++i) {
    const bool counts = scaled && i + 1 == rule.inputs.size();
    SLUICE_RETURN_IF_ERROR(rule.expect_shape("a sum", rule.inputs[i], {counts ? 2 : 1}));
  }
  return Shapes{{scaled ? 2 : 1}};
}

Result<Shapes> loss_scale_shapes(const ShapeRule& rule) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(3, 4));
  SLUICE_RETURN_IF_ERROR(rule.expect_shape("a factor", rule.inputs[0], {2}));
  SLUICE_RETURN_IF_ERROR(rule.expect_shape("a scale", rule.inputs[1], {1}));
  SLUICE_RETURN_IF_ERROR(rule.expect_shape("counts", rule.inputs[2], {2}));
  if (rule.inputs.size() > 3) SLUICE_RETURN_IF_ERROR(rule.expect_shape("a scale", rule.inputs[3], {1}));
  return Shapes(rule.inputs.begin() + 1, rule.inputs.end());
}

Result<Shapes> dropout_shapes(const ShapeRule& rule) {
  const float rate = rule.as<DropoutAttributes>().rate;
  if (!(rate >= 0 && rate < 1)) {
    return rule.error(fmt::format("expects a rate in [0, 1), got {}", rate));
  }
  return same_shape(rule);
}

Result<Shapes> softmax_cross_entropy_shapes(const ShapeRule& rule) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(2, 2));
  const Shape& logits = rule.inputs[0];
  if (logits.size() < 2) return rule.error(fmt::format("expects logits [..., classes], got {}", to_string(logits)));
  SLUICE_RETURN_IF_ERROR(expect_labels(rule, logits, rule.inputs[1]));
  return Shapes{{1}, logits};
}

Result<Shapes> number_of_one(const ShapeRule& rule) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(1, 1));
  return Shapes{{1}};
}

Result<std::vector<Shape>> infer_shapes(OpKind kind, const Attributes& attributes, std::span<const Shape> inputs,
                                        const Slice& slice) {
#define SLUICE_SHAPE_RULE(...) SLUICE_OP_SHAPES(__VA_ARGS__),
  static constexpr std::array<Result<Shapes> (*)(const ShapeRule&), kOpKinds> kRules{SLUICE_OPS(SLUICE_SHAPE_RULE)};
#undef SLUICE_SHAPE_RULE
  const bool defaults = std::holds_alternative<NoAttributes>(attributes);
  const ShapeRule rule{kind, defaults ? default_attributes(kind) : attributes, slice, inputs};
  if (!of_family(kind, rule.attributes)) return rule.error("has the attributes of another kind of op");
  return kRules.at(as_index(kind))(rule);
}

}  // namespace sluice::graph
