// Sums, means, maxima, norms and products over axes; running sums; the largest elements and where they are.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/onnx/convert/converters.hpp"
#include "sluice/onnx/convert/tensor_ops.hpp"

namespace sluice {
namespace {

using Axes = std::vector<std::int64_t>;

constexpr std::int64_t kMostFactors = 256;
constexpr std::int64_t kMostLargest = 64;

// Ascending; empty: nothing is reduced.
Result<Axes> axes_to_reduce(Node& node, std::size_t rank) {
  Axes stated = node.attributes.integers("axes").value_or(Axes{});
  if (node.has(1)) {
    SLUICE_ASSIGN(stated, node.integers(1));
  }
  const bool none = node.attributes.integer("noop_with_empty_axes", 0) != 0;
  if (stated.empty() && !none) {
    stated.resize(rank);
    std::iota(stated.begin(), stated.end(), 0);
  }
  Axes axes;
  for (const std::int64_t axis : stated) {
    SLUICE_ASSIGN(const std::int64_t positive, positive_axis(axis, rank));
    axes.push_back(positive);
  }
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

TensorId without_axes(Node& node, TensorId x, const Axes& axes) {
  if (node.builder.failed()) return x;
  const Shape& shape = node.builder.shape(x);
  Shape kept;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!std::binary_search(axes.begin(), axes.end(), static_cast<std::int64_t>(d))) kept.push_back(shape[d]);
  }
  return reshape_to(node, x, kept.empty() ? Shape{1} : kept);
}

Result<TensorId> sum_of(Node& node, TensorId x, const Axes& axes) {
  return reduce_over(node, ReduceFunction::kSum, x, axes);
}

// Of the height and width of images it is a pooling, which keeps their layout.
Result<TensorId> mean_of(Node& node, TensorId x, const Axes& axes) {
  const bool pools = node.builder.shape(x).size() == 4 && axes == Axes{2, 3};
  return pools ? node.builder.global_avg_pool(x) : reduce_over(node, ReduceFunction::kMean, x, axes);
}

Result<TensorId> maximum_of(Node& node, TensorId x, const Axes& axes) {
  return reduce_over(node, ReduceFunction::kMaximum, x, axes);
}

Result<TensorId> minimum_of(Node& node, TensorId x, const Axes& axes) {
  return affine(node, reduce_over(node, ReduceFunction::kMaximum, affine(node, x, -1, 0), axes), -1, 0);
}

Result<TensorId> absolute_sum_of(Node& node, TensorId x, const Axes& axes) {
  return sum_of(node, apply(node, UnaryFunction::kAbs, x), axes);
}

Result<TensorId> square_sum_of(Node& node, TensorId x, const Axes& axes) {
  SLUICE_ASSIGN(const TensorId squares, combine(node, BinaryFunction::kMultiply, x, x));
  return sum_of(node, squares, axes);
}

Result<TensorId> length_of(Node& node, TensorId x, const Axes& axes) {
  SLUICE_ASSIGN(const TensorId sum, square_sum_of(node, x, axes));
  return root_of(node, sum);
}

Result<TensorId> log_sum_of(Node& node, TensorId x, const Axes& axes) {
  SLUICE_ASSIGN(const TensorId sum, sum_of(node, x, axes));
  return apply(node, UnaryFunction::kLog, sum);
}

// From the largest, so that no exponential overflows; where that is infinite, from 0.
Result<TensorId> log_sum_exp_of(Node& node, TensorId x, const Axes& axes) {
  const TensorId maximum = reduce_over(node, ReduceFunction::kMaximum, x, axes);
  SLUICE_ASSIGN(const TensorId zero, constant(node, filled(Shape{1}, 0.0F), ".zero"));
  const TensorId infinite = apply(node, UnaryFunction::kIsInfinite, maximum, 1, 1);
  SLUICE_ASSIGN(const TensorId largest, select(node, infinite, zero, maximum));
  SLUICE_ASSIGN(const TensorId below, combine(node, BinaryFunction::kSubtract, x, largest));
  SLUICE_ASSIGN(const TensorId log, log_sum_of(node, apply(node, UnaryFunction::kExp, below), axes));
  return combine(node, BinaryFunction::kAdd, log, largest);
}

// One by one: a zero among the factors leaves the others' gradients right.
Result<TensorId> product_of(Node& node, TensorId x, const Axes& axes) {
  for (const std::int64_t axis : axes) {
    if (node.builder.failed()) return x;
    const std::int64_t extent = node.builder.shape(x)[as_index(axis)];
    if (extent > kMostFactors)
      return node.error(fmt::format("multiplies {} factors; at most {}", extent, kMostFactors));
    std::vector<TensorId> parts;
    for (std::int64_t i = 0; i < extent; ++i) {
      parts.push_back(extent == 1 ? x : node.builder.slice(x, axis, i, i + 1));
    }
    SLUICE_ASSIGN(x, combine_all(node, BinaryFunction::kMultiply, parts));
  }
  return x;
}

template <Result<TensorId> (*Reduce)(Node&, TensorId, const Axes&)>
Status convert_reduction(Node& node) {
  SLUICE_ASSIGN(const TensorId x, node.tensor(0));
  if (node.builder.failed()) return {};
  SLUICE_ASSIGN(const Axes axes, axes_to_reduce(node, node.builder.shape(x).size()));
  const bool keep = node.attributes.integer("keepdims", 1) != 0;
  SLUICE_ASSIGN(const TensorId y, Reduce(node, x, axes));
  node.set(keep ? y : without_axes(node, y, axes));
  return {};
}

// Of an axis that is too long for a matrix. An exclusive sum is that of the elements before, behind a zero.
Result<TensorId> long_running_sum(Node& node, TensorId x, std::int64_t axis, bool exclusive, bool reverse) {
  const Attributes attributes{.axis = axis, .causal = !reverse};
  if (!exclusive) return node.add(OpKind::kRunningSum, attributes, {x});
  const Shape shape = node.builder.shape(x);
  const std::int64_t others = shape[as_index(axis)] - 1, begin = reverse ? 0 : 1;
  const TensorId before = node.builder.slice(x, axis, 1 - begin, 1 - begin + others);
  SLUICE_ASSIGN(const TensorId sums, node.add(OpKind::kRunningSum, attributes, {before}));
  return node.add(OpKind::kPad, {.axis = axis, .shape = shape, .out_begin = begin, .out_end = begin + others}, {sums});
}

Status convert_running_sum(Node& node) {
  SLUICE_ASSIGN(const TensorId x, node.tensor(0));
  if (node.builder.failed()) return {};
  SLUICE_ASSIGN(const std::vector<std::int64_t> stated, node.integers(1));
  if (stated.size() != 1) return node.error("needs one axis");
  SLUICE_ASSIGN(const std::int64_t axis, positive_axis(stated[0], node.builder.shape(x).size()));
  const std::int64_t extent = node.builder.shape(x)[as_index(axis)];
  const bool exclusive = node.attributes.integer("exclusive", 0) != 0;
  const bool reverse = node.attributes.integer("reverse", 0) != 0;
  SLUICE_ASSIGN(const TensorId y, extent > kMostRanked
                                      ? long_running_sum(node, x, axis, exclusive, reverse)
                                      : multiply_along(node, x, axis, running(extent, exclusive, reverse)));
  node.set(y);
  return {};
}

// Which place `marks` marks along the axis, as a number.
Result<TensorId> place_of(Node& node, TensorId marks, std::int64_t axis) {
  SparseMatrix places;
  places.columns = node.builder.shape(marks)[as_index(axis)];
  for (std::int64_t i = 1; i < places.columns; ++i) places.add_term(i, static_cast<float>(i));
  places.end_row();
  return multiply_along(node, marks, axis, std::move(places));
}

template <bool Largest>
Status convert_place(Node& node) {
  SLUICE_ASSIGN(TensorId x, node.tensor(0));
  if (node.builder.failed()) return {};
  SLUICE_ASSIGN(const std::int64_t axis,
                positive_axis(node.attributes.integer("axis", 0), node.builder.shape(x).size()));
  const bool last = node.attributes.integer("select_last_index", 0) != 0;
  const bool keep = node.attributes.integer("keepdims", 1) != 0;
  if (!Largest) x = affine(node, x, -1, 0);
  SLUICE_ASSIGN(const TensorId marks, mark_largest(node, x, axis, last));
  SLUICE_ASSIGN(const TensorId place, place_of(node, marks, axis));
  node.set_integral(keep ? place : without_axes(node, place, {axis}));
  return {};
}

// Before opset 13, of the matrix that x is when cut before `axis`.
Status convert_hardmax(Node& node) {
  SLUICE_ASSIGN(TensorId x, node.tensor(0));
  if (node.builder.failed()) return {};
  const Shape shape = node.builder.shape(x);
  SLUICE_ASSIGN(std::int64_t axis,
                positive_axis(node.attributes.integer("axis", node.opset() < 13 ? 1 : -1), shape.size()));
  if (node.opset() < 13) {
    Shape matrix = {1, 1};
    for (std::size_t d = 0; d < shape.size(); ++d) matrix[d < as_index(axis) ? 0 : 1] *= shape[d];
    x = reshape_to(node, x, matrix);
    axis = 1;
  }
  SLUICE_ASSIGN(const TensorId marks, mark_largest(node, x, axis, false));
  node.set(reshape_to(node, marks, shape));
  return {};
}

struct Found {
  std::vector<TensorId> values, places;
};

// The largest of x, taken out and found again k times; their values are those in `given`.
Result<Found> find_largest(Node& node, TensorId x, TensorId given, std::int64_t axis, std::int64_t k) {
  constexpr float kLeast = -std::numeric_limits<float>::infinity();
  SLUICE_ASSIGN(const TensorId zero, constant(node, filled(Shape{1}, 0.0F), ".zero"));
  SLUICE_ASSIGN(const TensorId least, constant(node, filled(Shape{1}, kLeast), ".least"));
  Found found;
  TensorId taken = -1;
  for (std::int64_t i = 0; i < k && !node.builder.failed(); ++i) {
    SLUICE_ASSIGN(const TensorId marks, mark_largest(node, x, axis, false, taken));
    SLUICE_ASSIGN(const TensorId marked, select(node, marks, given, zero));
    found.values.push_back(reduce_over(node, ReduceFunction::kSum, marked, {axis}));
    SLUICE_ASSIGN(const TensorId place, place_of(node, marks, axis));
    found.places.push_back(place);
    if (i + 1 == k) break;
    SLUICE_ASSIGN(x, select(node, marks, least, x));
    if (taken >= 0) {
      SLUICE_ASSIGN(taken, combine(node, BinaryFunction::kAdd, taken, marks));
    } else {
      taken = marks;
    }
  }
  return found;
}

Status convert_top_k(Node& node) {
  SLUICE_ASSIGN(TensorId x, node.tensor(0));
  if (node.builder.failed()) return {};
  SLUICE_ASSIGN(const std::int64_t axis,
                positive_axis(node.attributes.integer("axis", -1), node.builder.shape(x).size()));
  SLUICE_ASSIGN(const std::vector<std::int64_t> k, node.integers(1));
  const std::int64_t extent = node.builder.shape(x)[as_index(axis)];
  if (k.size() != 1 || k[0] < 1 || k[0] > std::min(extent, kMostLargest)) {
    return node.error(fmt::format("needs a k of 1 to {}, known beforehand", std::min(extent, kMostLargest)));
  }
  const bool largest = node.attributes.integer("largest", 1) != 0;
  node.attributes.ignore("sorted");  // they are
  const TensorId given = x;
  if (!largest) x = affine(node, x, -1, 0);
  SLUICE_ASSIGN(const Found found, find_largest(node, x, given, axis, k[0]));
  const auto& [values, places] = found;
  if (node.builder.failed()) return {};
  node.set(values.size() == 1 ? values[0] : node.builder.concat(values, axis));
  node.set_integral(places.size() == 1 ? places[0] : node.builder.concat(places, axis), 1);
  return {};
}

}  // namespace

void add_reduction_converters(ConverterTable& table) {
  table["ReduceSum"] = convert_reduction<sum_of>;
  table["ReduceMean"] = convert_reduction<mean_of>;
  table["ReduceMax"] = convert_reduction<maximum_of>;
  table["ReduceMin"] = convert_reduction<minimum_of>;
  table["ReduceL1"] = convert_reduction<absolute_sum_of>;
  table["ReduceL2"] = convert_reduction<length_of>;
  table["ReduceSumSquare"] = convert_reduction<square_sum_of>;
  table["ReduceLogSum"] = convert_reduction<log_sum_of>;
  table["ReduceLogSumExp"] = convert_reduction<log_sum_exp_of>;
  table["ReduceProd"] = {convert_reduction<product_of>, "up to 256 factors along an axis"};
  table["CumSum"] = convert_running_sum;
  table["ArgMax"] = {convert_place<true>, "up to 2048 elements"};
  table["ArgMin"] = {convert_place<false>, "up to 2048 elements"};
  table["Hardmax"] = {convert_hardmax, "up to 2048 elements"};
  table["TopK"] = {convert_top_k, "a known k of up to 64 of 2048 elements"};
}

}  // namespace sluice
