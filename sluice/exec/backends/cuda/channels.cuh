// The channels of an [N, C, ...] tensor. A channel is N runs ("planes") of contiguous elements.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sluice/exec/backends/cuda/divisor.cuh"
#include "sluice/exec/backends/cuda/launch.cuh"
#include "sluice/graph/tensor.hpp"

namespace sluice::cuda {

inline constexpr std::int64_t kLargePlane = 1024;  // from here on a block keeps to one channel
inline constexpr std::int64_t kPlanePiece = 4096;  // elements of a large plane that one block goes through

struct Images {
  std::int64_t samples, channels, pixels;
  Divisor by_pixels, by_channels;

  explicit Images(const Shape& shape)
      : samples(shape[0]),
        channels(shape[1]),
        pixels(element_count(shape) / std::max<std::int64_t>(shape[0] * shape[1], 1)),
        by_pixels(std::max<std::int64_t>(pixels, 1)),
        by_channels(std::max<std::int64_t>(channels, 1)) {}

  std::int64_t in_channel() const { return samples * pixels; }

  __device__ std::int64_t channel(std::int64_t i) const { return by_channels.remainder(by_pixels.quotient(i)); }
  // Where element k of channel c lies.
  __device__ std::int64_t offset(std::int64_t c, std::int64_t k) const {
    const std::int64_t sample = by_pixels.quotient(k);
    return (sample * channels + c) * pixels + k - sample * pixels;
  }
};

// of_channel(c) gives what visits an element of channel c, by its offset; every element is visited once. How the work
// is cut depends on the size of a plane alone, so that some samples of a batch are visited by the same code as all.
template <typename OfChannel>
void for_each_in_channels(cudaStream_t stream, const Images& images, const OfChannel& of_channel) {
  const std::int64_t planes = images.samples * images.channels;
  if (images.pixels < kLargePlane) {
    for_each_element(stream, planes * images.pixels,
                     [=] __device__(std::int64_t i) { of_channel(images.channel(i))(i); });
    return;
  }
  const std::int64_t pieces = (images.pixels + kPlanePiece - 1) / kPlanePiece;
  for_each_row(stream, planes * pieces, [=] __device__(std::int64_t piece, Block & block) {
    const std::int64_t plane = piece / pieces;
    const std::int64_t begin = piece % pieces * images.pixels / pieces;
    const std::int64_t end = (piece % pieces + 1) * images.pixels / pieces;
    const auto visit = of_channel(plane % images.channels);
    block.for_each(end - begin, [&](std::int64_t k) { visit(plane * images.pixels + begin + k); });
  });
}

}  // namespace sluice::cuda
