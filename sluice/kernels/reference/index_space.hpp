// Row-major index arithmetic for kernels over tensors of any rank.
#pragma once

#include <cstddef>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/ops/tensor.hpp"

namespace sluice::kernels {

// The flat offset of the element at `index`.
inline std::size_t offset_of(const graph::Shape& shape, const graph::Shape& index) {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) offset = offset * shape[d] + index[d];
  return as_index(offset);
}

// Calls visit(index, flat offset) for every element, in row-major order.
template <typename Visit>
void for_each_index(const graph::Shape& shape, Visit visit) {
  graph::Shape index(shape.size(), 0);
  const auto count = as_index(graph::element_count(shape));
  for (std::size_t flat = 0; flat < count; ++flat) {
    visit(static_cast<const graph::Shape&>(index), flat);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

// The offset at which a tensor of `shape` is read for `index` when it is broadcast. The tensor's last dimensions are
// aligned with those of `index`; dimensions of extent 1 stay at 0.
inline std::size_t broadcast_offset(const graph::Shape& shape, const graph::Shape& index) {
  graph::Shape own(shape.size());
  const std::size_t skipped = index.size() - shape.size();
  for (std::size_t d = 0; d < shape.size(); ++d) own[d] = shape[d] == 1 ? 0 : index[skipped + d];
  return offset_of(shape, own);
}

// Dimension i of the result is dimension axes[i] of `shape`; no axes are the identity.
inline graph::Shape permuted(const graph::Shape& shape, const graph::Shape& axes) {
  if (axes.empty()) return shape;
  graph::Shape result(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) result[d] = shape.at(as_index(axes[d]));
  return result;
}

// The inverse: the index, before the permutation, of what lies at `index` after it.
inline graph::Shape unpermuted(const graph::Shape& index, const graph::Shape& axes) {
  if (axes.empty()) return index;
  graph::Shape result(index.size());
  for (std::size_t d = 0; d < index.size(); ++d) result.at(as_index(axes[d])) = index[d];
  return result;
}

}  // namespace sluice::kernels
