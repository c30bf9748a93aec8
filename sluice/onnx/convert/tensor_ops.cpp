#include "sluice/onnx/convert/tensor_ops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sluice/base/as_index.hpp"

namespace sluice {
namespace {

SparseMatrix selection(const std::vector<std::int64_t>& places, std::int64_t extent) {
  SparseMatrix matrix;
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
  const auto count = static_cast<std::int64_t>(places.size());
  const auto first = std::find_if(places.begin(), places.end(), [](auto place) { return place >= 0; }) - places.begin();
  if (first + extent > count || count == extent) return std::nullopt;
  for (std::int64_t i = 0; i < count; ++i) {
    const bool inside = i >= first && i < first + extent;
    if (places[as_index(i)] != (inside ? i - first : -1)) return std::nullopt;
  }
  return std::pair(first, first + extent);
}

Result<TensorId> padded(Node& node, TensorId x, std::int64_t axis, std::int64_t begin, std::int64_t end,
                        std::int64_t extent) {
  Attributes attributes;
  attributes.axis = axis;
  attributes.shape = node.builder.shape(x);
  attributes.shape[as_index(axis)] = extent;
  attributes.out_begin = begin;
  attributes.out_end = end;
  return node.add(OpKind::kPad, attributes, {x});
}

Result<TensorId> joined_runs(Node& node, TensorId x, std::int64_t axis,
                             const std::vector<std::pair<std::int64_t, std::int64_t>>& runs) {
  std::vector<TensorId> parts;
  for (const auto& [begin, end] : runs) parts.push_back(node.builder.slice(x, axis, begin, end));
  if (parts.size() == 1) return parts.front();
  Attributes attributes;
  attributes.axis = axis;
  return node.add(OpKind::kConcat, attributes, parts);
}

}  // namespace

Result<TensorId> combine(Node& node, BinaryFunction function, TensorId a, TensorId b) {
  if (node.builder.failed()) return TensorId{-1};
  if (function == BinaryFunction::kAdd && node.builder.shape(a) == node.builder.shape(b)) return node.builder.add(a, b);
  Attributes attributes;
  attributes.binary = function;
  return node.add(OpKind::kBinary, attributes, {a, b});
}

Result<TensorId> combine_all(Node& node, BinaryFunction function, const std::vector<TensorId>& parts) {
  TensorId result = parts.at(0);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    SLUICE_ASSIGN(result, combine(node, function, result, parts[i]));
  }
  return result;
}

Result<TensorId> select(Node& node, TensorId condition, TensorId a, TensorId b) {
  return node.add(OpKind::kSelect, {}, {condition, a, b});
}

TensorId apply(Node& node, UnaryFunction function, TensorId x, float alpha, float beta) {
  return node.builder.unary(x, function, alpha, beta);
}

TensorId affine(Node& node, TensorId x, float factor, float shift) {
  return factor == 1 && shift == 0 ? x : apply(node, UnaryFunction::kLinear, x, factor, shift);
}

Result<TensorId> truncate(Node& node, TensorId x) {
  const TensorId size = apply(node, UnaryFunction::kFloor, apply(node, UnaryFunction::kAbs, x));
  return combine(node, BinaryFunction::kMultiply, size, apply(node, UnaryFunction::kSign, x));
}

Result<TensorId> root_of(Node& node, TensorId sums, std::int64_t p) {
  SLUICE_ASSIGN(const TensorId one, constant(node, filled(Shape{1}, 1.0F), ".one"));
  SLUICE_ASSIGN(const TensorId zero, constant(node, filled(Shape{1}, 0.0F), ".zero"));
  SLUICE_ASSIGN(const TensorId above, select(node, sums, sums, one));
  const TensorId root = p == 2 ? apply(node, UnaryFunction::kSqrt, above)
                               : apply(node, UnaryFunction::kPower, above, 1 / static_cast<float>(p));
  return select(node, sums, root, zero);
}

TensorId reshape_to(Node& node, TensorId x, const Shape& shape) {
  if (node.builder.failed() || node.builder.shape(x) == shape) return x;
  return node.builder.reshape(x, shape);
}

TensorId transpose_to(Node& node, TensorId x, const std::vector<std::int64_t>& axes) {
  return std::is_sorted(axes.begin(), axes.end()) ? x : node.builder.transpose(x, axes);
}

TensorId move_axis(Node& node, TensorId x, std::int64_t from, std::int64_t to) {
  if (node.builder.failed() || from == to) return x;
  std::vector<std::int64_t> axes(node.builder.shape(x).size());
  std::iota(axes.begin(), axes.end(), 0);
  axes.erase(axes.begin() + from);
  axes.insert(axes.begin() + to, from);
  return node.builder.transpose(x, axes);
}

Result<TensorId> grow(Node& node, TensorId x, const Shape& shape) {
  if (node.builder.failed()) return TensorId{-1};
  Shape from = node.builder.shape(x);
  if (from.size() > shape.size()) return node.error(fmt::format("cannot grow {}", to_string(from)));
  from.insert(from.begin(), shape.size() - from.size(), 1);
  x = reshape_to(node, x, from);
  if (from == shape) return x;
  Attributes attributes;
  attributes.shape = shape;
  return node.add(OpKind::kBroadcast, attributes, {x});
}

TensorId reduce_over(Node& node, ReduceFunction function, TensorId x, const std::vector<std::int64_t>& axes) {
  return axes.empty() ? x : node.builder.reduce(x, function, axes);
}

Result<TensorId> log_softmax_along(Node& node, TensorId x, std::int64_t axis) {
  if (node.builder.failed()) return x;
  const TensorId largest = reduce_over(node, ReduceFunction::kMaximum, x, {axis});
  SLUICE_ASSIGN(const TensorId below, combine(node, BinaryFunction::kSubtract, x, largest));
  const TensorId sums = reduce_over(node, ReduceFunction::kSum, apply(node, UnaryFunction::kExp, below), {axis});
  return combine(node, BinaryFunction::kSubtract, below, apply(node, UnaryFunction::kLog, sums));
}

Status check_terms(Node& node, std::int64_t rows, std::int64_t terms) {
  if (rows <= kMostMatrixTerms && terms <= kMostMatrixTerms && rows * terms <= kMostMatrixTerms) return {};
  return node.error(
      fmt::format("would need a matrix of {} rows of {} terms; at most {} in all", rows, terms, kMostMatrixTerms));
}

Result<TensorId> multiply_along(Node& node, TensorId x, std::int64_t axis, SparseMatrix matrix) {
  if (node.builder.failed()) return TensorId{-1};
  if (matrix.terms() > kMostMatrixTerms) {
    return node.error(fmt::format("would need a matrix of {} terms; at most {}", matrix.terms(), kMostMatrixTerms));
  }
  Attributes attributes;
  attributes.axis = axis;
  attributes.matrix = std::move(matrix);
  return node.add(OpKind::kSparseProduct, attributes, {x});
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

Result<TensorId> take_along(Node& node, TensorId x, std::int64_t axis, const std::vector<std::int64_t>& places) {
  if (node.builder.failed()) return TensorId{-1};
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
    return padded(node, x, axis, bounds->first, bounds->second, static_cast<std::int64_t>(places.size()));
  }
  return multiply_along(node, x, axis, selection(places, extent));
}

SparseMatrix running(std::int64_t extent, bool exclusive, bool reverse) {
  SparseMatrix matrix;
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

Result<TensorId> mark_largest(Node& node, TensorId x, std::int64_t axis, bool backwards, TensorId taken) {
  const std::int64_t extent = node.builder.shape(x)[as_index(axis)];
  if (extent > kMostRanked) return node.error(fmt::format("ranks {} elements; at most {}", extent, kMostRanked));
  const TensorId largest = reduce_over(node, ReduceFunction::kMaximum, x, {axis});
  SLUICE_ASSIGN(const TensorId zero, constant(node, filled(Shape{1}, 0.0F), ".zero"));
  SLUICE_ASSIGN(TensorId equal, combine(node, BinaryFunction::kEqual, x, largest));
  if (taken >= 0) {
    SLUICE_ASSIGN(equal, select(node, taken, zero, equal));
  }
  SLUICE_ASSIGN(const TensorId before, multiply_along(node, equal, axis, running(extent, true, backwards)));
  SLUICE_ASSIGN(const TensorId none_before, combine(node, BinaryFunction::kEqual, before, zero));
  return combine(node, BinaryFunction::kMultiply, equal, none_before);
}

Result<TensorId> constant(Node& node, HostArray values, const std::string& suffix) {
  return node.conversion.tensor(array_value(std::move(values)), node.name() + suffix);
}

Result<TensorId> numbers_from(Node& node, std::int64_t first, std::int64_t extent) {
  HostArray numbers = filled(Shape{extent}, 0.0F);
  std::iota(numbers.floats.begin(), numbers.floats.end(), static_cast<float>(first));
  return constant(node, std::move(numbers), fmt::format(".from_{}", first));
}

Result<TensorId> one_hot_of_numbers(Node& node, TensorId numbers, std::int64_t depth) {
  if (node.builder.failed()) return numbers;
  Shape shape = node.builder.shape(numbers);
  shape.push_back(1);
  numbers = reshape_to(node, numbers, shape);
  SLUICE_ASSIGN(const TensorId places, numbers_from(node, 0, depth));
  SLUICE_ASSIGN(const TensorId ends, numbers_from(node, -depth, depth));
  SLUICE_ASSIGN(const TensorId at, combine(node, BinaryFunction::kEqual, numbers, places));
  SLUICE_ASSIGN(const TensorId behind, combine(node, BinaryFunction::kEqual, numbers, ends));
  return combine(node, BinaryFunction::kAdd, at, behind);
}

}  // namespace sluice
