// Row-major index arithmetic for kernels over tensors of any rank.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sluice/base/check.hpp"
#include "sluice/graph/ops/tensor.hpp"
#include "sluice/kernels/cuda/divisor.cuh"

namespace sluice::kernels::cuda {

// Where elements lie that are visited in the row-major order of some extents: plain data, so a kernel may capture it.
class Strided {
 public:
  // Moving on by one along dimension d moves by strides[d]. Neighbouring dimensions that are one run become one
  // dimension, so that a plain tensor takes no division.
  Strided(const graph::Shape& extents, const graph::Shape& strides) {
    for (std::size_t d = 0; d < extents.size(); ++d) append(extents[d], strides[d]);
  }

  __device__ std::int64_t operator()(std::int64_t flat) const {
    std::int64_t offset = 0;
    for (int d = rank_ - 1; d > 0; --d) {
      const std::int64_t outer = dims_[d].by_extent.quotient(flat);
      offset += (flat - outer * dims_[d].extent) * dims_[d].stride;
      flat = outer;
    }
    return offset + flat * dims_[0].stride;
  }

  // How many elements, one after another, the last dimension has; 1 where its elements lie apart.
  std::int64_t last_run() const { return rank_ > 0 && dims_[rank_ - 1].stride == 1 ? dims_[rank_ - 1].extent : 1; }

  // The same in units of `count` elements, which must divide last_run() and so what lies outside it.
  Strided in_units(std::int64_t count) const {
    Strided units = *this;
    if (count == 1) return units;
    units.dims_[rank_ - 1] = dim(dims_[rank_ - 1].extent / count, 1);
    for (int d = 0; d < rank_ - 1; ++d) units.dims_[d].stride /= count;
    return units;
  }

 private:
  static constexpr int kMostDims = 8;

  struct Dim {
    std::int64_t extent = 1, stride = 0;
    Divisor by_extent{1};
  };

  static Dim dim(std::int64_t extent, std::int64_t stride) {
    return {extent, stride, Divisor(std::max<std::int64_t>(extent, 1))};
  }

  void append(std::int64_t extent, std::int64_t stride) {
    if (extent == 1) return;
    const bool continues = rank_ > 0 && dims_[rank_ - 1].stride == extent * stride;
    SLUICE_CHECK(continues || rank_ < kMostDims, "a kernel's operand has too many dimensions");
    if (!continues) ++rank_;
    dims_[rank_ - 1] = dim(dims_[rank_ - 1].extent * extent, stride);
  }

  int rank_ = 0;
  Dim dims_[kMostDims];
};

// Of a row-major tensor.
inline graph::Shape strides_of(const graph::Shape& shape) {
  graph::Shape strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

// A tensor of `shape` as it is read where it is broadcast to `extents`: last dimensions are aligned, and those of
// extent 1 stay at 0.
inline Strided broadcast_to(const graph::Shape& extents, const graph::Shape& shape) {
  const graph::Shape own = strides_of(shape);
  const std::size_t skipped = extents.size() - shape.size();
  graph::Shape strides(extents.size(), 0);
  for (std::size_t d = 0; d < shape.size(); ++d) strides[skipped + d] = shape[d] == 1 ? 0 : own[d];
  return {extents, strides};
}

}  // namespace sluice::kernels::cuda
