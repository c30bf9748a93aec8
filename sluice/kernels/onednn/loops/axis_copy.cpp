#include "sluice/kernels/onednn/loops/axis_copy.hpp"

#include <algorithm>
#include <cstring>

#include "sluice/base/as_index.hpp"
#include "sluice/kernels/onednn/vectors/vector_code.hpp"

namespace sluice::kernels {
namespace {

constexpr std::int64_t kThreadPart = 2048 * kLanes;  // elements that one thread takes at a time

std::int64_t blocks_of(std::int64_t channels) { return (channels + kChannelBlock - 1) / kChannelBlock; }

// A blocked image as the row-major tensor [N, blocks of C, H, W, 16].
graph::Shape copied_shape(const graph::Shape& shape, bool blocked) {
  if (!blocked) return shape;
  return {shape[0], blocks_of(shape[1]), shape[2], shape[3], kChannelBlock};
}

std::int64_t product(const graph::Shape& shape, std::size_t begin, std::size_t end) {
  std::int64_t result = 1;
  for (std::size_t i = begin; i < end; ++i) result *= shape[i];
  return result;
}

template <graph::Activation FusedActivation, typename T>
SLUICE_INLINE inline void copy_active(const T* from, T* to, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Vector value;
    load(from + i, value);
    activate<FusedActivation>(value);
    store(value, to + i);
  }
  if (i == count) return;
  T tail[kLanes] = {};
  std::copy(from + i, from + count, tail);
  Vector value;
  load(tail, value);
  activate<FusedActivation>(value);
  store(value, tail);
  std::copy(tail, tail + (count - i), to + i);
}

template <typename T>
void copy_part(const T* from, T* to, std::int64_t count, graph::Activation activation, bool streaming) {
  constexpr bool kHasActivation = std::is_same_v<T, float> || std::is_same_v<T, BFloat16>;
  if constexpr (kHasActivation) {
    if (activation == graph::Activation::kRelu)
      return vectorised([&](auto) SLUICE_INLINE { copy_active<graph::Activation::kRelu>(from, to, count); });
    if (activation == graph::Activation::kRelu6)
      return vectorised([&](auto) SLUICE_INLINE { copy_active<graph::Activation::kRelu6>(from, to, count); });
  }
  if constexpr (std::is_same_v<T, float>) {
    if (streaming) {
      vectorised([&](auto width) SLUICE_INLINE {
        for (std::int64_t i = 0; i < count; i += kLanes) {
          Vector value;
          load(from + i, value);
          stream<decltype(width)>(value, to + i);
        }
      });
      return;
    }
  }
  std::memcpy(static_cast<void*>(to), from, as_index(count) * sizeof(T));
}

}  // namespace

AxisCopy::AxisCopy(const Range& range) : dtype_(range.dtype) {
  element_bytes_ = graph::size_of(range.dtype);
  const auto axis = as_index(range.axis);
  const graph::Shape from = copied_shape(range.from, range.blocked);
  const graph::Shape to = copied_shape(range.to, range.blocked);
  const bool by_blocks = range.blocked && range.axis == 1;
  const std::int64_t piece = by_blocks ? kChannelBlock : 1;  // of the dimension's elements
  const std::int64_t inner = product(from, axis + 1, from.size());
  outer_ = product(from, 0, axis);
  from_pitch_ = from[axis] * inner;
  to_pitch_ = to[axis] * inner;
  const bool to_end =
      range.from_begin + range.extent == range.from[axis] && range.to_begin + range.extent == range.to[axis];
  const bool aligned =
      range.from_begin % piece == 0 && range.to_begin % piece == 0 && (range.extent % piece == 0 || to_end);
  from_offset_ = range.from_begin / piece * inner;
  to_offset_ = range.to_begin / piece * inner;
  count_ = (range.extent + piece - 1) / piece * inner;
  if (!aligned) note_lanes(range);
}

void AxisCopy::note_lanes(const Range& range) {
  pixels_ = range.from[2] * range.from[3];
  for (std::int64_t done = 0; done < range.extent;) {
    const std::int64_t from = range.from_begin + done;
    const std::int64_t to = range.to_begin + done;
    const std::int64_t count =
        std::min({kChannelBlock - from % kChannelBlock, kChannelBlock - to % kChannelBlock, range.extent - done});
    const std::int64_t end = to + count;
    const std::int64_t padding = end == range.to[1] ? blocks_of(end) * kChannelBlock - end : 0;
    lanes_.push_back(
        {from / kChannelBlock, from % kChannelBlock, to / kChannelBlock, to % kChannelBlock, count, padding});
    done += count;
  }
}

void AxisCopy::run(const void* from, void* to, graph::Activation activation, bool stream) const {
  switch (dtype_) {
    case graph::DType::kF32:
      return run_as(static_cast<const float*>(from), static_cast<float*>(to), activation, stream);
    case graph::DType::kBF16:
    case graph::DType::kF16:
      return run_as(static_cast<const BFloat16*>(from), static_cast<BFloat16*>(to), activation, stream);
    case graph::DType::kI32:
      return run_as(static_cast<const std::int32_t*>(from), static_cast<std::int32_t*>(to), activation, stream);
    case graph::DType::kU8:
      return run_as(static_cast<const std::uint8_t*>(from), static_cast<std::uint8_t*>(to), activation, stream);
  }
}

template <typename T>
void AxisCopy::run_as(const T* from, T* to, graph::Activation activation, bool stream) const {
  if (!lanes_.empty()) return move_lanes(from, to, activation);
  const std::int64_t parts = (count_ + kThreadPart - 1) / kThreadPart;
#pragma omp for schedule(static) nowait
  for (std::int64_t job = 0; job < outer_ * parts; ++job) {
    const std::int64_t row = job / parts;
    const std::int64_t begin = job % parts * kThreadPart;
    copy_part(from + row * from_pitch_ + from_offset_ + begin, to + row * to_pitch_ + to_offset_ + begin,
              std::min(kThreadPart, count_ - begin), activation, stream);
  }
}

template <typename T>
void AxisCopy::move_lanes(const T* from, T* to, graph::Activation activation) const {
  const auto moves = std::ssize(lanes_);
#pragma omp for schedule(static) nowait
  for (std::int64_t job = 0; job < outer_ * moves; ++job) {
    const std::int64_t sample = job / moves;
    const LaneMove& move = lanes_[as_index(job % moves)];
    const T* source = from + sample * from_pitch_ + move.from_block * pixels_ * kChannelBlock + move.from_lane;
    T* target = to + sample * to_pitch_ + move.to_block * pixels_ * kChannelBlock + move.to_lane;
    for (std::int64_t pixel = 0; pixel < pixels_; ++pixel) {
      copy_part(source + pixel * kChannelBlock, target + pixel * kChannelBlock, move.count, activation, false);
      std::fill_n(target + pixel * kChannelBlock + move.count, move.zeros, T{});
    }
  }
}

void AxisCopy::clear_rest(void* to) const {
  auto* bytes = static_cast<std::byte*>(to);
  const bool all = !lanes_.empty();
#pragma omp for schedule(static)
  for (std::int64_t row = 0; row < outer_; ++row) {
    std::byte* begin = bytes + row * to_pitch_ * element_bytes_;
    const std::int64_t before = all ? to_pitch_ : to_offset_;
    const std::int64_t after = all ? 0 : to_pitch_ - to_offset_ - count_;
    std::memset(begin, 0, as_index(before * element_bytes_));
    std::memset(begin + (to_pitch_ - after) * element_bytes_, 0, as_index(after * element_bytes_));
  }
}

}  // namespace sluice::kernels
