// Sums, means, maxima, norms and products over axes; running sums; the largest elements and where they are.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/onnx/convert/converters.hpp"
#include "sluice/onnx/convert/tensor_ops.hpp"

namespace sluice::onnx {
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

graph::TensorId without_axes(Node& node, graph::TensorId x, const Axes& axes) {
  if (node.builder.failed()) return x;
  const graph::Shape& shape = node.builder.shape(x);
  graph::Shape kept;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!std::binary_search(axes.begin(), axes.end(), as_id<std::int64_t>(d))) kept.push_back(shape[d]);
  }
  return reshape_to(node, x, kept.empty() ? graph::Shape{1} : kept);
}

Result<graph::TensorId> sum_of(Node& node, graph::TensorId x, const Axes& axes) {
  return reduce_over(node, graph::ReduceFunction::kSum, x, axes);
}

// Of the height and width of images it is a pooling, which keeps their layout.
Result<graph::TensorId> mean_of(Node& node, graph::TensorId x, const Axes& axes) {
  const bool pools = node.builder.shape(x).size() == 4 && axes == Axes{2, 3};
  return pools ? node.builder.global_avg_pool(x) : reduce_over(node, graph::ReduceFunction::kMean, x, axes);
}

Result<graph::TensorId> maximum_of(Node& node, graph::TensorId x, const Axes& axes) {
  return reduce_over(node, graph::ReduceFunction::kMaximum, x, axes);
}

Result<graph::TensorId> minimum_of(Node& node, graph::TensorId x, const Axes& axes) {
  return affine(node, reduce_over(node, graph::ReduceFunction::kMaximum, affine(node, x, -1, 0), axes), -1, 0);
}

Result<graph::TensorId> absolute_sum_of(Node& node, graph::TensorId x, const Axes& axes) {
  return sum_of(node, apply(node, graph::UnaryFunction::kAbs, x), axes);
}

Result<graph::TensorId> square_sum_of(Node& node, graph::TensorId x, const Axes& axes) {
  SLUICE_ASSIGN(const graph::TensorId squares, combine(node, graph::BinaryFunction::kMultiply, x, x));
  return sum_of(node, squares, axes);
}

Result<graph::TensorId> length_of(Node& node, graph::TensorId x, const Axes& axes) {
  SLUICE_ASSIGN(const graph::TensorId sum, square_sum_of(node, x, axes));
  return root_of(node, sum);
}

Result<graph::TensorId> log_sum_of(Node& node, graph::TensorId x, const Axes& axes) {
  SLUICE_ASSIGN(const graph::TensorId sum, sum_of(node, x, axes));
  return apply(node, graph::UnaryFunction::kLog, sum);
}

// From the largest, so that no exponential overflows; where that is infinite, from 0.
Result<graph::TensorId> log_sum_exp_of(Node& node, graph::TensorId x, const Axes& axes) {
  const graph::TensorId maximum = reduce_over(node, graph::ReduceFunction::kMaximum, x, axes);
  SLUICE_ASSIGN(const graph::TensorId zero, constant(node, filled(graph::Shape{1}, 0.0F), ".zero"));
  const graph::TensorId infinite = apply(node, graph::UnaryFunction::kIsInfinite, maximum, 1, 1);
  SLUICE_ASSIGN(const graph::TensorId largest, select(node, infinite, zero, maximum));
  SLUICE_ASSIGN(const graph::TensorId below, combine(node, graph::BinaryFunction::kSubtract, x, largest));
  SLUICE_ASSIGN(const graph::TensorId log, log_sum_of(node, apply(node, graph::UnaryFunction::kExp, below), axes));
  return combine(node, graph::BinaryFunction::kAdd, log, largest);
}

// One by one: a zero among the factors leaves the others' gradients right.
Result<graph::TensorId> product_of(Node& node, graph::TensorId x, const Axes& axes) {
  for (const std::int64_t axis : axes) {
    if (node.builder.failed()) return x;
    const std::int64_t extent = node.builder.shape(x)[as_index(axis)];
    if (extent > kMostFactors)
      return node.error(fmt::format("multiplies {} factors; at most {}", extent, kMostFactors));
    std::vector<graph::TensorId> parts;
    for (std::int64_t i = 0; i < extent; ++i) {
      parts.push_back(extent == 1 ? x : node.builder.slice(x, axis, i, i + 1));
    }
    SLUICE_ASSIGN(x, combine_all(node, graph::BinaryFunction::kMultiply, parts));
  }
  return x;
}

template <Result<graph::TensorId> (*Reduce)(Node&, graph::TensorId, const Axes&)>
Status convert_reduction(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  if (node.builder.failed()) return {};
  SLUICE_ASSIGN(const Axes axes, axes_to_reduce(node, node.builder.shape(x).size()));
  const bool keep = node.attributes.integer("keepdims", 1) != 0;
  SLUICE_ASSIGN(const graph::TensorId y, Reduce(node, x, axes));
  node.set(keep ? y : without_axes(node, y, axes));
  return {};
}

// Of an axis that is too long for a matrix. An exclusive sum is that of the elements before, behind a zero.
Result<graph::TensorId> long_running_sum(Node& node, graph::TensorId x, std::int64_t axis, bool exclusive,
                                         bool reverse) {
  const graph::RunningSumAttributes attributes{.axis = axis, .forwards = !reverse};
  if (!exclusive) return node.add(graph::OpKind::kRunningSum, attributes, {x});
  const graph::Shape shape = node.builder.shape(x);
  const std::int64_t others = shape[as_index(axis)] - 1, begin = reverse ? 0 : 1;
  const graph::TensorId before = node.builder.slice(x, axis, 1 - begin, 1 - begin + others);
  SLUICE_ASSIGN(const graph::TensorId sums, node.add(graph::OpKind::kRunningSum, attributes, {before}));
  return node.add(graph::OpKind::kPad,
                  graph::PartAttributes{.axis = axis, .begin = begin, .end = begin + others, .shape = shape}, {sums});
}

Status convert_running_sum(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  if (node.builder.failed()) return {};
  SLUICE_ASSIGN(const std::vector<std::int64_t> stated, node.integers(1));
  if (stated.size() != 1) return node.error("needs one axis");
  SLUICE_ASSIGN(const std::int64_t axis, positive_axis(stated[0], node.builder.shape(x).size()));
  const std::int64_t extent = node.builder.shape(x)[as_index(axis)];
  const bool exclusive = node.attributes.integer("exclusive", 0) != 0;
  const bool reverse = node.attributes.integer("reverse", 0) != 0;
  SLUICE_ASSIGN(const graph::TensorId y, extent > kMostRanked
                                             ? long_running_sum(node, x, axis, exclusive, reverse)
                                             : multiply_along(node, x, axis, running(extent, exclusive, reverse)));
  node.set(y);
  return {};
}

// Which place `marks` marks along the axis, as a number.
Result<graph::TensorId> place_of(Node& node, graph::TensorId marks, std::int64_t axis) {
  graph::SparseMatrix places;
  places.columns = node.builder.shape(marks)[as_index(axis)];
  for (std::int64_t i = 1; i < places.columns; ++i) places.add_term(i, static_cast<float>(i));
  places.end_row();
  return multiply_along(node, marks, axis, std::move(places));
}

template <bool Largest>
Status convert_place(Node& node) {
  SLUICE_ASSIGN(graph::TensorId x, node.tensor(0));
  if (node.builder.failed()) return {};
  SLUICE_ASSIGN(const std::int64_t axis,
                positive_axis(node.attributes.integer("axis", 0), node.builder.shape(x).size()));
  const bool last = node.attributes.integer("select_last_index", 0) != 0;
  const bool keep = node.attributes.integer("keepdims", 1) != 0;
  if (!Largest) x = affine(node, x, -1, 0);
  SLUICE_ASSIGN(const graph::TensorId marks, mark_largest(node, x, axis, last));
  SLUICE_ASSIGN(const graph::TensorId place, place_of(node, marks, axis));
  node.set_integral(keep ? place : without_axes(node, place, {axis}));
  return {};
}

// Before opset 13, of the matrix that x is when cut before `axis`.
Status convert_hardmax(Node& node) {
  SLUICE_ASSIGN(graph::TensorId x, node.tensor(0));
  if (node.builder.failed()) return {};
  const graph::Shape shape = node.builder.shape(x);
  SLUICE_ASSIGN(std::int64_t axis,
                positive_axis(node.attributes.integer("axis", node.opset() < 13 ? 1 : -1), shape.size()));
  if (node.opset() < 13) {
    graph::Shape matrix = {1, 1};
    for (std::size_t d = 0; d < shape.size(); ++d) matrix[d < as_index(axis) ? 0 : 1] *= shape[d];
    x = reshape_to(node, x, matrix);
    axis = 1;
  }
  SLUICE_ASSIGN(const graph::TensorId marks, mark_largest(node, x, axis, false));
  node.set(reshape_to(node, marks, shape));
  return {};
}

struct Found {
  std::vector<graph::TensorId> values, places;
};

// The largest of x, taken out and found again k times; their values are those in `given`.
Result<Found> find_largest(Node& node, graph::TensorId x, graph::TensorId given, std::int64_t axis, std::int64_t k) {
  constexpr float kLeast = -std::numeric_limits<float>::infinity();
  SLUICE_ASSIGN(const graph::TensorId zero, constant(node, filled(graph::Shape{1}, 0.0F), ".zero"));
  SLUICE_ASSIGN(const graph::TensorId least, constant(node, filled(graph::Shape{1}, kLeast), ".least"));
  Found found;
  graph::TensorId taken = -1;
  for (std::int64_t i = 0; i < k && !node.builder.failed(); ++i) {
    SLUICE_ASSIGN(const graph::TensorId marks, mark_largest(node, x, axis, false, taken));
    SLUICE_ASSIGN(const graph::TensorId marked, select(node, marks, given, zero));
    found.values.push_back(reduce_over(node, graph::ReduceFunction::kSum, marked, {axis}));
    SLUICE_ASSIGN(const graph::TensorId place, place_of(node, marks, axis));
    found.places.push_back(place);
    if (i + 1 == k) break;
    SLUICE_ASSIGN(x, select(node, marks, least, x));
    if (taken >= 0) {
      SLUICE_ASSIGN(taken, combine(node, graph::BinaryFunction::kAdd, taken, marks));
    } else {
      taken = marks;
    }
  }
  return found;
}

Status convert_top_k(Node& node) {
  SLUICE_ASSIGN(graph::TensorId x, node.tensor(0));
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
  const graph::TensorId given = x;
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

}  // namespace sluice::onnx
