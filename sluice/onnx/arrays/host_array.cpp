#include "sluice/onnx/arrays/host_array.hpp"

#include <fmt/format.h>

#include "sluice/base/as_index.hpp"

namespace sluice::onnx {

HostArray integers(std::vector<std::int64_t> values) {
  HostArray array;
  array.shape = {std::ssize(values)};
  array.is_integer = true;
  array.ints = std::move(values);
  return array;
}

HostArray scalar(float value) {
  HostArray array;
  array.floats = {value};
  return array;
}

HostArray filled(graph::Shape shape, float value) {
  HostArray array;
  array.floats.assign(as_index(graph::element_count(shape)), value);
  array.shape = std::move(shape);
  return array;
}

HostArray filled(graph::Shape shape, std::int64_t value) {
  HostArray array;
  array.is_integer = true;
  array.ints.assign(as_index(graph::element_count(shape)), value);
  array.shape = std::move(shape);
  return array;
}

Result<std::int64_t> positive_axis(std::int64_t axis, std::size_t rank) {
  const auto dimensions = as_id<std::int64_t>(rank);
  if (axis < -dimensions || axis >= dimensions) {
    return Error{ErrorCode::kBadInput, fmt::format("axis {} is outside a tensor of {} dimensions", axis, rank)};
  }
  return axis < 0 ? axis + dimensions : axis;
}

std::vector<std::int64_t> strides_of(const graph::Shape& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

}  // namespace sluice::onnx
