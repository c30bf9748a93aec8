#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/shapes/shape_rule.hpp"

namespace sluice::graph {
namespace {

// [begin, end) lies within `extent`.
Status expect_part(const ShapeRule& rule, std::int64_t extent) {
  const auto& [axis, begin, end, whole] = rule.as<PartAttributes>();
  if (begin >= 0 && begin < end && end <= extent) return {};
  return rule.error(fmt::format("{}:{} is not a part of {} along axis {}", begin, end, extent, axis));
}

// Dimensions are matched from the last; a missing one counts as 1.
Result<Shape> common_shape(const ShapeRule& rule, const Shape& a, const Shape& b) {
  const bool first_longer = a.size() >= b.size();
  Shape y = first_longer ? a : b;
  const Shape& other = first_longer ? b : a;
  for (std::size_t i = 0; i < other.size(); ++i) {
    std::int64_t& extent = y[y.size() - other.size() + i];
    if (extent != other[i] && extent != 1 && other[i] != 1) {
      return rule.error(fmt::format("expects shapes that broadcast, got {} and {}", to_string(a), to_string(b)));
    }
    extent = std::max(extent, other[i]);
  }
  return y;
}

}  // namespace

Result<Shapes> binary_shapes(const ShapeRule& rule) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(2, 2));
  SLUICE_ASSIGN(Shape y, common_shape(rule, rule.inputs[0], rule.inputs[1]));
  return Shapes{std::move(y)};
}

Result<Shapes> select_shapes(const ShapeRule& rule) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(3, 3));
  SLUICE_ASSIGN(const Shape sides, common_shape(rule, rule.inputs[1], rule.inputs[2]));
  SLUICE_ASSIGN(Shape y, common_shape(rule, rule.inputs[0], sides));
  return Shapes{std::move(y)};
}

Result<Shapes> reduce_shapes(const ShapeRule& rule) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(1, 1));
  const std::vector<std::int64_t>& axes = rule.as<ReduceAttributes>().axes;
  Shape y = rule.inputs[0];
  for (std::size_t i = 0; i < axes.size(); ++i) {
    SLUICE_RETURN_IF_ERROR(rule.expect_axis(axes[i]));
    if (i > 0 && axes[i] <= axes[i - 1]) {
      return rule.error(fmt::format("expects ascending axes, got [{}]", fmt::join(axes, ", ")));
    }
    y[as_index(axes[i])] = 1;
  }
  return Shapes{std::move(y)};
}

Result<Shapes> broadcast_shapes(const ShapeRule& rule) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(1, 1));
  const Shape& x = rule.inputs[0];
  const Shape& y = rule.as<ShapeAttributes>().shape;
  const bool grows = x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), [](auto from, auto to) {
                       return from == to || (from == 1 && to >= 1);
                     });
  if (!grows) return rule.error(fmt::format("cannot grow {} to {}", to_string(x), to_string(y)));
  return Shapes{y};
}

Result<Shapes> reshape_shapes(const ShapeRule& rule) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(1, 1));
  const Shape& y = rule.as<ShapeAttributes>().shape;
  const bool positive = std::all_of(y.begin(), y.end(), [](std::int64_t extent) { return extent >= 1; });
  if (!positive || element_count(y) != element_count(rule.inputs[0])) {
    return rule.error(
        fmt::format("cannot read {} as {}: the number of elements differs", to_string(rule.inputs[0]), to_string(y)));
  }
  return Shapes{y};
}

Result<Shapes> transpose_shapes(const ShapeRule& rule) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(1, 1));
  SLUICE_ASSIGN(Shape y, permuted(rule, rule.inputs[0], rule.as<TransposeAttributes>().axes));
  return Shapes{std::move(y)};
}

Result<Shapes> concat_shapes(const ShapeRule& rule) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(1, rule.inputs.size()));
  const std::int64_t axis = rule.as<ConcatAttributes>().axis;
  SLUICE_RETURN_IF_ERROR(rule.expect_axis(axis));
  Shape y = rule.inputs[0];
  for (std::size_t i = 1; i < rule.inputs.size(); ++i) {
    Shape expected = rule.inputs[0];
    SLUICE_RETURN_IF_ERROR(rule.expect_rank(i, expected.size(), fmt::format("like {}", to_string(expected))));
    expected[as_index(axis)] = rule.inputs[i][as_index(axis)];
    SLUICE_RETURN_IF_ERROR(rule.expect_shape(fmt::format("input {}", i), rule.inputs[i], expected));
    y[as_index(axis)] += expected[as_index(axis)];
  }
  return Shapes{std::move(y)};
}

Result<Shapes> slice_shapes(const ShapeRule& rule) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(1, 1));
  const auto& [axis, begin, end, whole] = rule.as<PartAttributes>();
  SLUICE_RETURN_IF_ERROR(rule.expect_axis(axis));
  Shape y = rule.inputs[0];
  std::int64_t& extent = y[as_index(axis)];
  SLUICE_RETURN_IF_ERROR(expect_part(rule, extent));
  extent = end - begin;
  return Shapes{std::move(y)};
}

Result<Shapes> pad_shapes(const ShapeRule& rule) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(1, 1));
  const auto& [axis, begin, end, y] = rule.as<PartAttributes>();
  SLUICE_RETURN_IF_ERROR(rule.expect_axis(axis));
  if (y.size() != rule.inputs[0].size()) {
    return rule.error(fmt::format("cannot pad {} to {}", to_string(rule.inputs[0]), to_string(y)));
  }
  SLUICE_RETURN_IF_ERROR(expect_part(rule, y[as_index(axis)]));
  Shape part = y;
  part[as_index(axis)] = end - begin;
  SLUICE_RETURN_IF_ERROR(rule.expect_shape("an input", rule.inputs[0], part));
  return Shapes{y};
}

Result<Shapes> sparse_product_shapes(const ShapeRule& rule) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(1, 1));
  const auto& [axis, matrix] = rule.as<SparseAttributes>();
  SLUICE_RETURN_IF_ERROR(rule.expect_axis(axis));
  if (!matrix || !matrix->is_sound() || matrix->rows() < 1) return rule.error("expects a matrix");
  Shape y = rule.inputs[0];
  std::int64_t& extent = y[as_index(axis)];
  if (extent != matrix->columns) {
    return rule.error(fmt::format("expects a matrix of {} columns, got {}", extent, matrix->columns));
  }
  extent = matrix->rows();
  return Shapes{std::move(y)};
}

}  // namespace sluice::graph
