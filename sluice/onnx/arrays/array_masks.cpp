// Arrays by conditions: of two one or the other, triangles and unit matrices.
#include "sluice/base/as_index.hpp"
#include "sluice/onnx/arrays/array_ops.hpp"

namespace sluice::onnx {

Result<HostArray> chosen_by(const HostArray& given, const HostArray& first, const HostArray& second) {
  SLUICE_ASSIGN(const graph::Shape ab, broadcast_shape(first.shape, second.shape));
  SLUICE_ASSIGN(const graph::Shape shape, broadcast_shape(given.shape, ab));
  SLUICE_ASSIGN(const HostArray condition, broadcast_to(given, shape));
  SLUICE_ASSIGN(const HostArray a, broadcast_to(first, shape));
  SLUICE_ASSIGN(const HostArray b, broadcast_to(second, shape));
  HostArray result = a;
  if (a.is_integer != b.is_integer) return bad_input("chooses between integers and other numbers");
  for (std::int64_t i = 0; i < condition.count(); ++i) {
    if (condition.at(i) != 0) continue;
    if (a.is_integer) {
      result.ints[as_index(i)] = b.ints[as_index(i)];
    } else {
      result.floats[as_index(i)] = b.floats[as_index(i)];
    }
  }
  return result;
}

Result<HostArray> unit_matrix(const graph::Shape& shape, std::int64_t diagonal) {
  if (shape.size() != 2 || !checked_count(shape, kMostArrayElements)) return bad_input("needs a matrix");
  HostArray result = filled(shape, 0.0F);
  if (diagonal > kMostArrayElements || diagonal < -kMostArrayElements) return result;
  for (std::int64_t row = 0; row < shape[0]; ++row) {
    const std::int64_t column = row + diagonal;
    if (column >= 0 && column < shape[1]) result.floats[as_index(row * shape[1] + column)] = 1;
  }
  return result;
}

Result<HostArray> triangle(const HostArray& x, bool upper, std::int64_t diagonal) {
  if (x.shape.size() < 2) return bad_input("needs a matrix");
  const std::int64_t columns = x.shape.back();
  const std::int64_t rows = x.shape[x.shape.size() - 2];
  HostArray result = x;
  for (std::int64_t i = 0; i < x.count(); ++i) {
    const std::int64_t beyond = i % columns - i / columns % rows;
    if (upper ? beyond >= diagonal : beyond <= diagonal) continue;
    if (result.is_integer) {
      result.ints[as_index(i)] = 0;
    } else {
      result.floats[as_index(i)] = 0;
    }
  }
  return result;
}

}  // namespace sluice::onnx
