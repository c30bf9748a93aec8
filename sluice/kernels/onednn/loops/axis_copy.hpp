// Copies of a range of one dimension from a tensor to another: what concatenation, slices and padding are made of.
//
// Along any dimension, a row-major tensor and an image in nChw16c both are `outer` rows of `extent` pieces of `inner`
// elements. Along the channels of a blocked image a piece is a block of 16 channels, if ranges begin and end at blocks.
// If they do not, lanes move one by one.
#pragma once

#include <cstddef>
#include <vector>

#include "sluice/graph/ops/op.hpp"
#include "sluice/kernels/onednn/kernel/layout.hpp"

namespace sluice::kernels {

class AxisCopy {
 public:
  // Elements [from_begin, from_begin + extent) along `axis` of a tensor of shape `from` go to [to_begin, ...) of one of
  // shape `to`. Both lie row-major, or both blocked, as `blocked` says.
  struct Range {
    graph::Shape from, to;
    std::int64_t axis = 0, from_begin = 0, to_begin = 0, extent = 0;
    graph::DType dtype = graph::DType::kF32;
    bool blocked = false;
  };

  explicit AxisCopy(const Range& range);

  // Called by all threads of a parallel region: each does its share, without a barrier. The activation (fp32 and bf16)
  // is applied on the way. `stream`: around the caches.
  void run(const void* from, void* to, graph::Activation activation, bool stream) const;

  // Zeroes what run() does not write of `to`; in the same way, but before run() and with a barrier between.
  void clear_rest(void* to) const;

 private:
  // Lanes [from_lane, from_lane + count) of one block of channels go to [to_lane, ...) of another; then some zeros.
  struct LaneMove {
    std::int64_t from_block, from_lane, to_block, to_lane, count, zeros;
  };

  template <typename T>
  void run_as(const T* from, T* to, graph::Activation activation, bool stream) const;
  template <typename T>
  void move_lanes(const T* from, T* to, graph::Activation activation) const;
  void note_lanes(const Range& range);

  std::int64_t outer_ = 1;
  std::int64_t from_pitch_ = 0, to_pitch_ = 0;  // elements of a row
  std::int64_t from_offset_ = 0, to_offset_ = 0;
  std::int64_t count_ = 0;  // elements copied of a row
  std::int64_t element_bytes_ = 4;
  graph::DType dtype_ = graph::DType::kF32;
  std::vector<LaneMove> lanes_;  // not empty: blocks do not line up
  std::int64_t pixels_ = 0;
};

}  // namespace sluice::kernels
