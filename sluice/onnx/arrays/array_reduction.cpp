#include <algorithm>
#include <limits>
#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/onnx/arrays/array_ops.hpp"

namespace sluice::onnx {
namespace {

double neutral(const std::string& op) {
  if (op == "ReduceProd") return 1;
  if (op == "ReduceMax") return -std::numeric_limits<double>::infinity();
  if (op == "ReduceMin") return std::numeric_limits<double>::infinity();
  return 0;
}

double taken_together(const std::string& op, double a, double b) {
  if (op == "ReduceProd") return a * b;
  if (op == "ReduceMax") return std::max(a, b);
  if (op == "ReduceMin") return std::min(a, b);
  return a + b;
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
  std::vector<double> totals(as_index(graph::element_count(ones)), neutral(op));
  const std::vector<std::int64_t> from = strides_of(x.shape);
  const std::vector<std::int64_t> to = strides_of(ones);
  for (std::int64_t i = 0; i < x.count(); ++i) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < ones.size(); ++d) place += goes[d] ? 0 : i / from[d] % x.shape[d] * to[d];
    totals[as_index(place)] = taken_together(op, totals[as_index(place)], x.at(i));
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
