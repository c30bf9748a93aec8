// What the shape rules of single kinds share: one op's inputs, and checks whose errors name the op. Internal to
// shape_rules*.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/graph/shapes/shape_rules.hpp"

namespace sluice::graph {

struct ShapeRule {
  OpKind kind;
  const Attributes& attributes;
  const Slice& slice;
  std::span<const Shape> inputs;

  template <typename Family>
  const Family& as() const {
    return attributes_as<Family>(attributes);
  }

  Error error(const std::string& detail) const;
  // Checks the number of inputs, and that all their extents are at least 1.
  Status expect_inputs(std::size_t at_least, std::size_t at_most) const;
  Status expect_rank(std::size_t input, std::size_t rank, std::string_view form) const;  // form: "[N, C, H, W]"
  Status expect_image(std::size_t input) const { return expect_rank(input, 4, "[N, C, H, W]"); }
  Status expect_shape(std::string_view what, const Shape& got, const Shape& expected) const;
  // `axis` is a dimension of input 0.
  Status expect_axis(std::int64_t axis) const;
};

// The shape whose dimension i is the old dimension axes[i]. Without axes the shape stays as it is.
Result<Shape> permuted(const ShapeRule& rule, const Shape& shape, const std::vector<std::int64_t>& axes);

// The rules that the table of kinds (op_table.hpp) names; where several kinds have one rule, the op's kind selects.
#define SLUICE_SHAPE_RULE(...) Result<Shapes> SLUICE_OP_SHAPES(__VA_ARGS__)(const ShapeRule& rule);
SLUICE_OPS(SLUICE_SHAPE_RULE)
#undef SLUICE_SHAPE_RULE

}  // namespace sluice::graph
