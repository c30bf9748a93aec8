// Small arrays that are known while a model is read: shapes, indices, masks, scalars. Weights are not among them
// (weight_expression.hpp).
//
// All integer types and booleans are 64-bit integers here, all floating-point types single precision. Arrays are
// limited in size, so that a model with false sizes cannot ask for all of the machine's memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/base/result.hpp"
#include "sluice/graph/ops/checked_count.hpp"

namespace sluice::onnx {

inline constexpr std::int64_t kMostArrayElements = std::int64_t{1} << 24;
using graph::checked_count;
using graph::kMostElements;

struct HostArray {
  graph::Shape shape;              // {} is a scalar; an extent may be 0
  bool is_integer = false;         // which of the two is filled
  std::vector<std::int64_t> ints;  // row-major
  std::vector<float> floats;
  bool from_shape = false;  // computed from a tensor's shape: not a literal of the file

  std::int64_t count() const { return static_cast<std::int64_t>(is_integer ? ints.size() : floats.size()); }
  double at(std::int64_t index) const {
    return is_integer ? static_cast<double>(ints[as_index(index)]) : floats[as_index(index)];
  }
};

HostArray integers(std::vector<std::int64_t> values);  // of one dimension
HostArray scalar(float value);
HostArray filled(graph::Shape shape, float value);
HostArray filled(graph::Shape shape, std::int64_t value);

// `axis` counted from the end when negative. Errors: outside the rank.
Result<std::int64_t> positive_axis(std::int64_t axis, std::size_t rank);

// Elements to step over per step along each dimension, row-major.
std::vector<std::int64_t> strides_of(const graph::Shape& shape);

// The same elements in another order or number; sizes are the caller's to check. `axes` as in kTranspose.
template <typename T>
std::vector<T> transpose_elements(const std::vector<T>& x, const graph::Shape& shape,
                                  const std::vector<std::int64_t>& axes) {
  const std::size_t rank = shape.size();
  const std::vector<std::int64_t> strides = strides_of(shape);
  std::vector<std::int64_t> position(rank, 0);
  std::vector<T> y;
  y.reserve(x.size());
  for (std::int64_t at = 0; y.size() < x.size();) {
    y.push_back(x[as_index(at)]);
    for (std::size_t d = rank; d-- > 0;) {
      const auto axis = as_index(axes[d]);
      at += strides[axis];
      if (++position[d] < shape[axis]) break;
      at -= strides[axis] * shape[axis];
      position[d] = 0;
    }
  }
  return y;
}

}  // namespace sluice::onnx
