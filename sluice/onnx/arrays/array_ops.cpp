#include "sluice/onnx/arrays/array_ops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "sluice/base/as_index.hpp"

namespace sluice::onnx {
namespace {

// The elements of x at `places`, as an array of `shape`.
HostArray picked(const HostArray& x, graph::Shape shape, const std::vector<std::int64_t>& places) {
  HostArray result;
  result.shape = std::move(shape);
  result.is_integer = x.is_integer;
  for (const std::int64_t place : places) {
    if (x.is_integer) {
      result.ints.push_back(x.ints[as_index(place)]);
    } else {
      result.floats.push_back(x.floats[as_index(place)]);
    }
  }
  return result;
}

// The elements of x at the given positions of one axis, in that order.
Result<HostArray> picked_along(const HostArray& x, std::int64_t axis, const std::vector<std::int64_t>& positions,
                               graph::Shape shape) {
  if (!checked_count(shape, kMostArrayElements)) return bad_input("a constant would have too many elements");
  const graph::Shape& from = x.shape;
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (d < as_index(axis)) outer *= from[d];
    if (d > as_index(axis)) inner *= from[d];
  }
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < outer; ++i) {
    for (const std::int64_t position : positions) {
      for (std::int64_t j = 0; j < inner; ++j) places.push_back((i * from[as_index(axis)] + position) * inner + j);
    }
  }
  return picked(x, std::move(shape), places);
}

using Unary = double (*)(double);
using Binary = double (*)(double, double);

double quotient(double a, double b) { return a / b; }

const std::map<std::string, Unary>& unary_ops() {
  static const std::map<std::string, Unary> table{
      {"Neg", [](double a) { return -a; }},
      {"Abs", [](double a) { return std::abs(a); }},
      {"Sqrt", [](double a) { return std::sqrt(a); }},
      {"Exp", [](double a) { return std::exp(a); }},
      {"Log", [](double a) { return std::log(a); }},
      {"Floor", [](double a) { return std::floor(a); }},
      {"Ceil", [](double a) { return std::ceil(a); }},
      {"Reciprocal", [](double a) { return 1 / a; }},
      {"Not", [](double a) { return a == 0 ? 1.0 : 0.0; }},
  };
  return table;
}

const std::map<std::string, Binary>& binary_ops() {
  static const std::map<std::string, Binary> table{
      {"Add", [](double a, double b) { return a + b; }},
      {"Sub", [](double a, double b) { return a - b; }},
      {"Mul", [](double a, double b) { return a * b; }},
      {"Div", quotient},
      {"Pow", [](double a, double b) { return std::pow(a, b); }},
      {"Min", [](double a, double b) { return std::min(a, b); }},
      {"Max", [](double a, double b) { return std::max(a, b); }},
      {"Mod", [](double a, double b) { return a - b * std::floor(a / b); }},
      {kRemainderOp, [](double a, double b) { return std::fmod(a, b); }},
      {"Xor", [](double a, double b) { return (a != 0) != (b != 0) ? 1.0 : 0.0; }},
      {"And", [](double a, double b) { return a != 0 && b != 0 ? 1.0 : 0.0; }},
      {"Or", [](double a, double b) { return a != 0 || b != 0 ? 1.0 : 0.0; }},
      {"Equal", [](double a, double b) { return a == b ? 1.0 : 0.0; }},
      {"Less", [](double a, double b) { return a < b ? 1.0 : 0.0; }},
      {"Greater", [](double a, double b) { return a > b ? 1.0 : 0.0; }},
      {"LessOrEqual", [](double a, double b) { return a <= b ? 1.0 : 0.0; }},
      {"GreaterOrEqual", [](double a, double b) { return a >= b ? 1.0 : 0.0; }},
  };
  return table;
}

bool is_comparison(const std::string& op) {
  static const std::set<std::string> all{"And", "Or",      "Xor",         "Equal",         "Less",
                                         "Not", "Greater", "LessOrEqual", "GreaterOrEqual"};
  return all.contains(op);
}

void append(HostArray& result, double value) {
  if (result.is_integer) {
    result.ints.push_back(integer_of(value));
  } else {
    result.floats.push_back(static_cast<float>(value));
  }
}

Result<HostArray> computed_binary(const std::string& op, Binary function, const HostArray& a, const HostArray& b) {
  SLUICE_ASSIGN(const graph::Shape shape, broadcast_shape(a.shape, b.shape));
  SLUICE_ASSIGN(const HostArray x, broadcast_to(a, shape));
  SLUICE_ASSIGN(const HostArray y, broadcast_to(b, shape));
  HostArray result;
  result.shape = shape;
  result.is_integer = is_comparison(op) || (a.is_integer && b.is_integer);
  const bool divides_integers = function == quotient && result.is_integer;
  for (std::int64_t i = 0; i < x.count(); ++i) {
    if (divides_integers && y.at(i) == 0) return bad_input("divides an integer by zero");
    append(result, function(x.at(i), y.at(i)));
  }
  return result;
}

}  // namespace

std::int64_t integer_of(double value) {
  constexpr double kLimit = 9.2e18;
  if (std::isnan(value)) return 0;
  if (value >= kLimit) return std::numeric_limits<std::int64_t>::max();
  if (value <= -kLimit) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(value);
}

Result<graph::Shape> broadcast_shape(const graph::Shape& a, const graph::Shape& b) {
  graph::Shape result = a.size() >= b.size() ? a : b;
  const graph::Shape& other = a.size() >= b.size() ? b : a;
  for (std::size_t i = 0; i < other.size(); ++i) {
    std::int64_t& extent = result[result.size() - 1 - i];
    const std::int64_t second = other[other.size() - 1 - i];
    if (extent != second && extent != 1 && second != 1) {
      return bad_input(fmt::format("cannot combine {} and {}", graph::to_string(a), graph::to_string(b)));
    }
    if (extent == 1) extent = second;
  }
  if (!checked_count(result, kMostArrayElements)) return bad_input("a constant would have too many elements");
  return result;
}

Result<HostArray> broadcast_to(const HostArray& x, const graph::Shape& shape) {
  SLUICE_ASSIGN(graph::Shape result, broadcast_shape(x.shape, shape));
  if (result == x.shape) return x;
  graph::Shape from = x.shape;
  from.insert(from.begin(), result.size() - from.size(), 1);
  const std::vector<std::int64_t> strides = strides_of(from);
  const std::int64_t count = graph::element_count(result);
  std::vector<std::int64_t> places;
  std::vector<std::int64_t> position(result.size(), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < result.size(); ++d) place += from[d] == 1 ? 0 : position[d] * strides[d];
    places.push_back(place);
    for (std::size_t d = result.size(); d-- > 0 && ++position[d] == result[d];) position[d] = 0;
  }
  return picked(x, std::move(result), places);
}

Result<HostArray> gathered(const HostArray& x, const HostArray& indices, std::int64_t axis) {
  if (!indices.is_integer) return bad_input("needs integers as indices");
  std::vector<std::int64_t> positions = indices.ints;
  const std::int64_t extent = x.shape[as_index(axis)];
  for (std::int64_t& position : positions) {
    if (position < 0) position += extent;
    if (position < 0 || position >= extent) return bad_input(fmt::format("takes element {} of {}", position, extent));
  }
  graph::Shape shape = x.shape;
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, indices.shape.begin(), indices.shape.end());
  return picked_along(x, axis, positions, std::move(shape));
}

Result<HostArray> joined(const std::vector<const HostArray*>& parts, std::int64_t axis) {
  graph::Shape shape = parts[0]->shape;
  std::int64_t extent = 0;
  std::int64_t outer = 1;
  for (std::size_t d = 0; d < as_index(axis); ++d) outer *= shape[d];
  for (const HostArray* const part : parts) {
    graph::Shape expected = part->shape;
    if (expected.size() != shape.size()) return bad_input("joins constants of different dimensions");
    extent += expected[as_index(axis)];
    expected[as_index(axis)] = shape[as_index(axis)];
    if (expected != shape || part->is_integer != parts[0]->is_integer)
      return bad_input("joins constants of different shapes");
  }
  shape[as_index(axis)] = extent;
  if (!checked_count(shape, kMostArrayElements)) return bad_input("a constant would have too many elements");
  HostArray result;
  result.is_integer = parts[0]->is_integer;
  for (std::int64_t i = 0; i < outer; ++i) {
    for (const HostArray* const part : parts) {
      const std::int64_t row = part->count() / outer;
      for (std::int64_t j = 0; j < row && result.is_integer; ++j)
        result.ints.push_back(part->ints[as_index(i * row + j)]);
      for (std::int64_t j = 0; j < row && !result.is_integer; ++j) {
        result.floats.push_back(part->floats[as_index(i * row + j)]);
      }
    }
  }
  result.shape = std::move(shape);
  return result;
}

Result<HostArray> sliced(const HostArray& x, std::int64_t axis, std::int64_t start, std::int64_t end,
                         std::int64_t step) {
  const std::int64_t extent = x.shape[as_index(axis)];
  if (step == 0) return bad_input("slices with a step of 0");
  std::vector<std::int64_t> positions;
  if (extent > 0) {
    const std::int64_t first = start < 0 ? start + extent : start;
    const std::int64_t last = end < 0 ? end + extent : end;
    const std::int64_t stride = std::clamp(step, -extent, extent);  // longer ones leave the array as soon
    const std::int64_t from = std::clamp<std::int64_t>(first, 0, step > 0 ? extent : extent - 1);
    const std::int64_t to = std::clamp<std::int64_t>(last, step > 0 ? 0 : -1, extent);
    for (std::int64_t i = from; step > 0 ? i < to : i > to; i += stride) positions.push_back(i);
  }
  graph::Shape shape = x.shape;
  shape[as_index(axis)] = std::ssize(positions);
  return picked_along(x, axis, positions, std::move(shape));
}

const std::vector<std::string>& elementwise_ops() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& [name, function] : unary_ops()) all.push_back(name);
    for (const auto& [name, function] : binary_ops()) {
      if (name != kRemainderOp) all.push_back(name);
    }
    return all;
  }();
  return names;
}

Result<HostArray> computed_elementwise(const std::string& op, const std::vector<const HostArray*>& inputs) {
  if (const auto unary = unary_ops().find(op); unary != unary_ops().end()) {
    HostArray result;
    result.shape = inputs[0]->shape;
    result.is_integer = inputs[0]->is_integer || is_comparison(op);
    for (std::int64_t i = 0; i < inputs[0]->count(); ++i) append(result, unary->second(inputs[0]->at(i)));
    return result;
  }
  if (inputs.size() < 2) return bad_input(fmt::format("{} has {} inputs", op, inputs.size()));
  HostArray result = *inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    SLUICE_ASSIGN(result, computed_binary(op, binary_ops().at(op), result, *inputs[i]));
  }
  return result;
}

}  // namespace sluice::onnx
