#include "sluice/onnx/convert/tensor_ops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sluice/base/as_index.hpp"

namespace sluice::onnx {
namespace {

graph::SparseMatrix selection(const std::vector<std::int64_t>& places, std::int64_t extent) {
  graph::SparseMatrix matrix;
  matrix.columns = extent;
  for (const std::int64_t place : places) {
    if (place >= 0) matrix.add_term(place, 1);
    matrix.end_row();
  }
  return matrix;
}

// Zeros before and behind all of x, as kPad's bounds; nothing where the places are something else.
std::optional<std::pair<std::int64_t, std::int64_t>> padded_bounds(const std::vector<std::int64_t>& places,
                                                                   std::int64_t extent) {
  const auto count = std::ssize(places);
  const auto first = std::find_if(places.begin(), places.end(), [](auto place) { return place >= 0; }) - places.begin();
  if (first + extent > count || count == extent) return std::nullopt;
  for (std::int64_t i = 0; i < count; ++i) {
    const bool inside = i >= first && i < first + extent;
    if (places[as_index(i)] != (inside ? i - first : -1)) return std::nullopt;
  }
  return std::pair(first, first + extent);
}

Result<graph::TensorId> padded(Node& node, graph::TensorId x, std::int64_t axis, std::int64_t begin, std::int64_t end,
                               std::int64_t extent) {
  graph::PartAttributes attributes;
  attributes.axis = axis;
  attributes.shape = node.builder.shape(x);
  attributes.shape[as_index(axis)] = extent;
  attributes.begin = begin;
  attributes.end = end;
  return node.add(graph::OpKind::kPad, attributes, {x});
}

Result<graph::TensorId> joined_runs(Node& node, graph::TensorId x, std::int64_t axis,
                                    const std::vector<std::pair<std::int64_t, std::int64_t>>& runs) {
  std::vector<graph::TensorId> parts;
  for (const auto& [begin, end] : runs) parts.push_back(node.builder.slice(x, axis, begin, end));
  if (parts.size() == 1) return parts.front();
  graph::ConcatAttributes attributes;
  attributes.axis = axis;
  return node.add(graph::OpKind::kConcat, attributes, parts);
}

}  // namespace

Result<graph::TensorId> combine(Node& node, graph::BinaryFunction function, graph::TensorId a, graph::TensorId b) {
  if (node.builder.failed()) return graph::TensorId{-1};
  if (function == graph::BinaryFunction::kAdd && node.builder.shape(a) == node.builder.shape(b))
    return node.builder.add(a, b);
  graph::BinaryAttributes attributes;
  attributes.function = function;
  return node.add(graph::OpKind::kBinary, attributes, {a, b});
}

Result<graph::TensorId> combine_all(Node& node, graph::BinaryFunction function,
                                    const std::vector<graph::TensorId>& parts) {
  graph::TensorId result = parts.at(0);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    SLUICE_ASSIGN(result, combine(node, function, result, parts[i]));
  }
  return result;
}

Result<graph::TensorId> select(Node& node, graph::TensorId condition, graph::TensorId a, graph::TensorId b) {
  return node.add(graph::OpKind::kSelect, {}, {condition, a, b});
}

graph::TensorId apply(Node& node, graph::UnaryFunction function, graph::TensorId x, float alpha, float beta) {
  return node.builder.unary(x, function, alpha, beta);
}

graph::TensorId affine(Node& node, graph::TensorId x, float factor, float shift) {
  return factor == 1 && shift == 0 ? x : apply(node, graph::UnaryFunction::kLinear, x, factor, shift);
}

Result<graph::TensorId> truncate(Node& node, graph::TensorId x) {
  const graph::TensorId size = apply(node, graph::UnaryFunction::kFloor, apply(node, graph::UnaryFunction::kAbs, x));
  return combine(node, graph::BinaryFunction::kMultiply, size, apply(node, graph::UnaryFunction::kSign, x));
}

Result<graph::TensorId> root_of(Node& node, graph::TensorId sums, std::int64_t p) {
  SLUICE_ASSIGN(const graph::TensorId one, constant(node, filled(graph::Shape{1}, 1.0F), ".one"));
  SLUICE_ASSIGN(const graph::TensorId zero, constant(node, filled(graph::Shape{1}, 0.0F), ".zero"));
  SLUICE_ASSIGN(const graph::TensorId above, select(node, sums, sums, one));
  const graph::TensorId root = p == 2 ? apply(node, graph::UnaryFunction::kSqrt, above)
                                      : apply(node, graph::UnaryFunction::kPower, above, 1 / static_cast<float>(p));
  return select(node, sums, root, zero);
}

graph::TensorId reshape_to(Node& node, graph::TensorId x, const graph::Shape& shape) {
  if (node.builder.failed() || node.builder.shape(x) == shape) return x;
  return node.builder.reshape(x, shape);
}

graph::TensorId transpose_to(Node& node, graph::TensorId x, const std::vector<std::int64_t>& axes) {
  return std::is_sorted(axes.begin(), axes.end()) ? x : node.builder.transpose(x, axes);
}

graph::TensorId move_axis(Node& node, graph::TensorId x, std::int64_t from, std::int64_t to) {
  if (node.builder.failed() || from == to) return x;
  std::vector<std::int64_t> axes(node.builder.shape(x).size());
  std::iota(axes.begin(), axes.end(), 0);
  axes.erase(axes.begin() + from);
  axes.insert(axes.begin() + to, from);
  return node.builder.transpose(x, axes);
}

Result<graph::TensorId> grow(Node& node, graph::TensorId x, const graph::Shape& shape) {
  if (node.builder.failed()) return graph::TensorId{-1};
  graph::Shape from = node.builder.shape(x);
  if (from.size() > shape.size()) return node.error(fmt::format("cannot grow {}", graph::to_string(from)));
  from.insert(from.begin(), shape.size() - from.size(), 1);
  x = reshape_to(node, x, from);
  if (from == shape) return x;
  graph::ShapeAttributes attributes;
  attributes.shape = shape;
  return node.add(graph::OpKind::kBroadcast, attributes, {x});
}

graph::TensorId reduce_over(Node& node, graph::ReduceFunction function, graph::TensorId x,
                            const std::vector<std::int64_t>& axes) {
  return axes.empty() ? x : node.builder.reduce(x, function, axes);
}

Result<graph::TensorId> log_softmax_along(Node& node, graph::TensorId x, std::int64_t axis) {
  if (node.builder.failed()) return x;
  const graph::TensorId largest = reduce_over(node, graph::ReduceFunction::kMaximum, x, {axis});
  SLUICE_ASSIGN(const graph::TensorId below, combine(node, graph::BinaryFunction::kSubtract, x, largest));
  const graph::TensorId sums =
      reduce_over(node, graph::ReduceFunction::kSum, apply(node, graph::UnaryFunction::kExp, below), {axis});
  return combine(node, graph::BinaryFunction::kSubtract, below, apply(node, graph::UnaryFunction::kLog, sums));
}

Status check_terms(Node& node, std::int64_t rows, std::int64_t terms) {
  if (rows <= kMostMatrixTerms && terms <= kMostMatrixTerms && rows * terms <= kMostMatrixTerms) return {};
  return node.error(
      fmt::format("would need a matrix of {} rows of {} terms; at most {} in all", rows, terms, kMostMatrixTerms));
}

Result<graph::TensorId> multiply_along(Node& node, graph::TensorId x, std::int64_t axis, graph::SparseMatrix matrix) {
  if (node.builder.failed()) return graph::TensorId{-1};
  if (matrix.terms() > kMostMatrixTerms) {
    return node.error(fmt::format("would need a matrix of {} terms; at most {}", matrix.terms(), kMostMatrixTerms));
  }
  node.conversion.count_constant(12 * matrix.terms() + 8 * matrix.rows());
  graph::SparseAttributes attributes;
  attributes.axis = axis;
  attributes.matrix = std::move(matrix);
  return node.add(graph::OpKind::kSparseProduct, attributes, {x});
}

std::vector<std::pair<std::int64_t, std::int64_t>> runs_of(const std::vector<std::int64_t>& places) {
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;
  for (const std::int64_t place : places) {
    if (!runs.empty() && runs.back().second == place) {
      ++runs.back().second;
    } else {
      runs.emplace_back(place, place + 1);
    }
  }
  return runs;
}

Result<graph::TensorId> take_along(Node& node, graph::TensorId x, std::int64_t axis,
                                   const std::vector<std::int64_t>& places) {
  if (node.builder.failed()) return graph::TensorId{-1};
  if (places.empty()) return node.error("takes no elements");
  const std::int64_t extent = node.builder.shape(x)[as_index(axis)];
  if (std::any_of(places.begin(), places.end(), [&](auto place) { return place >= extent; })) {
    return node.error(fmt::format("takes an element beyond {}", extent));
  }
  if (std::all_of(places.begin(), places.end(), [](auto place) { return place >= 0; })) {
    const auto runs = runs_of(places);
    if (runs.size() == 1 && runs[0] == std::pair(std::int64_t{0}, extent)) return x;
    if (runs.size() <= kMostRuns) return joined_runs(node, x, axis, runs);
  }
  if (const auto bounds = padded_bounds(places, extent)) {
    return padded(node, x, axis, bounds->first, bounds->second, std::ssize(places));
  }
  return multiply_along(node, x, axis, selection(places, extent));
}

graph::SparseMatrix running(std::int64_t extent, bool exclusive, bool reverse) {
  graph::SparseMatrix matrix;
  matrix.columns = extent;
  for (std::int64_t row = 0; row < extent; ++row) {
    for (std::int64_t column = 0; column < extent; ++column) {
      const std::int64_t before = reverse ? column - row : row - column;
      if (before > 0 || (before == 0 && !exclusive)) matrix.add_term(column, 1);
    }
    matrix.end_row();
  }
  return matrix;
}

Result<graph::TensorId> mark_largest(Node& node, graph::TensorId x, std::int64_t axis, bool backwards,
                                     graph::TensorId taken) {
  const std::int64_t extent = node.builder.shape(x)[as_index(axis)];
  if (extent > kMostRanked) return node.error(fmt::format("ranks {} elements; at most {}", extent, kMostRanked));
  const graph::TensorId largest = reduce_over(node, graph::ReduceFunction::kMaximum, x, {axis});
  SLUICE_ASSIGN(const graph::TensorId zero, constant(node, filled(graph::Shape{1}, 0.0F), ".zero"));
  SLUICE_ASSIGN(graph::TensorId equal, combine(node, graph::BinaryFunction::kEqual, x, largest));
  if (taken >= 0) {
    SLUICE_ASSIGN(equal, select(node, taken, zero, equal));
  }
  SLUICE_ASSIGN(const graph::TensorId before, multiply_along(node, equal, axis, running(extent, true, backwards)));
  SLUICE_ASSIGN(const graph::TensorId none_before, combine(node, graph::BinaryFunction::kEqual, before, zero));
  return combine(node, graph::BinaryFunction::kMultiply, equal, none_before);
}

Result<graph::TensorId> constant(Node& node, HostArray values, const std::string& suffix) {
  return node.conversion.tensor(array_value(std::move(values)), node.name() + suffix);
}

Result<graph::TensorId> numbers_from(Node& node, std::int64_t first, std::int64_t extent) {
  HostArray numbers = filled(graph::Shape{extent}, 0.0F);
  std::iota(numbers.floats.begin(), numbers.floats.end(), static_cast<float>(first));
  return constant(node, std::move(numbers), fmt::format(".from_{}", first));
}

Result<graph::TensorId> one_hot_of_numbers(Node& node, graph::TensorId numbers, std::int64_t depth) {
  if (node.builder.failed()) return numbers;
  graph::Shape shape = node.builder.shape(numbers);
  shape.push_back(1);
  numbers = reshape_to(node, numbers, shape);
  SLUICE_ASSIGN(const graph::TensorId places, numbers_from(node, 0, depth));
  SLUICE_ASSIGN(const graph::TensorId ends, numbers_from(node, -depth, depth));
  SLUICE_ASSIGN(const graph::TensorId at, combine(node, graph::BinaryFunction::kEqual, numbers, places));
  SLUICE_ASSIGN(const graph::TensorId behind, combine(node, graph::BinaryFunction::kEqual, numbers, ends));
  return combine(node, graph::BinaryFunction::kAdd, at, behind);
}

}  // namespace sluice::onnx
