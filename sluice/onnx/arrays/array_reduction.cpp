#include <algorithm>
#include <limits>
#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/onnx/arrays/array_ops.hpp"

namespace sluice::onnx {
namespace {

struct Reduction {
  double neutral;
  double (*take_together)(double a, double b);
};

// Chosen once: an array may have millions of numbers.
Reduction reduction_of(const std::string& op) {
  constexpr double kEndless = std::numeric_limits<double>::infinity();
  if (op == "ReduceProd") return {1, [](double a, double b) { return a * b; }};
  if (op == "ReduceMax") return {-kEndless, [](double a, double b) { return std::max(a, b); }};
  if (op == "ReduceMin") return {kEndless, [](double a, double b) { return std::min(a, b); }};
  return {0, [](double a, double b) { return a + b; }};
}

}  // namespace

Result<HostArray> reduced(const std::string& op, const HostArray& x, const std::vector<std::int64_t>& axes,
                          bool none_is_none, bool keep) {
  if (axes.empty() && none_is_none) return x;
  std::vector<bool> goes(x.shape.size(), axes.empty());
  for (const std::int64_t stated : axes) {
    SLUICE_ASSIGN(const std::int64_t axis, positive_axis(stated, x.shape.size()));
    goes[as_index(axis)] = true;
  }
  graph::Shape ones = x.shape;
  graph::Shape shape;
  for (std::size_t d = 0; d < ones.size(); ++d) {
    if (goes[d]) ones[d] = 1;
    if (!goes[d] || keep) shape.push_back(ones[d]);
  }
  const Reduction reduction = reduction_of(op);
  std::vector<double> totals(as_index(graph::element_count(ones)), reduction.neutral);
  const std::vector<std::int64_t> from = strides_of(x.shape);
  const std::vector<std::int64_t> to = strides_of(ones);
  std::vector<std::size_t> stay;
  for (std::size_t d = 0; d < ones.size(); ++d) {
    if (!goes[d]) stay.push_back(d);
  }
  for (std::int64_t i = 0; i < x.count(); ++i) {
    std::int64_t place = 0;
    for (const std::size_t d : stay) place += i / from[d] % x.shape[d] * to[d];
    totals[as_index(place)] = reduction.take_together(totals[as_index(place)], x.at(i));
  }
  HostArray result;
  result.shape = std::move(shape);
  result.is_integer = x.is_integer;
  for (const double total : totals) {
    if (x.is_integer) {
      result.ints.push_back(integer_of(total));
    } else {
      result.floats.push_back(static_cast<float>(total));
    }
  }
  return result;
}

}  // namespace sluice::onnx
