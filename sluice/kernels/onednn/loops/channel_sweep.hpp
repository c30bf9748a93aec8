// Passes over the pixels of one channel, or of one block of 16 channels, of one sample: what batch norms are made of.
//
// An image tensor is a row of runs, one for each sample and channel (row-major) or block of channels (nChw16c). In a
// blocked run, lane l of each 16 elements is channel l of the block. In a row-major run all lanes are of the one
// channel. So parameters come as 16 lanes, and sums go to 16 lanes. Sums are made in fp32 over 256 vectors, then in
// fp64, always in this order.
#pragma once

#include "sluice/graph/ops/op.hpp"
#include "sluice/kernels/onednn/kernel/layout.hpp"
#include "sluice/kernels/onednn/vectors/vector_code.hpp"

namespace sluice::kernels {

// How an image tensor is cut into runs.
struct ChannelRuns {
  ChannelRuns(const Layout& layout, const graph::Shape& shape);

  std::int64_t offset(std::int64_t sample, std::int64_t block) const { return (sample * blocks + block) * length; }
  // The channel of a lane; -1 in the padding of the last block.
  std::int64_t channel(std::int64_t block, std::int64_t lane) const {
    const std::int64_t index = blocked ? block * kChannelBlock + lane : block;
    return index < channels ? index : -1;
  }

  std::int64_t samples = 0;
  std::int64_t channels = 0;
  std::int64_t pixels = 0;  // of one sample
  std::int64_t blocks = 0;  // of channels
  std::int64_t length = 0;  // of a run, elements
  bool blocked = false;
};

struct alignas(64) Lanes {
  float value[kLanes];
};

// Two sums of each lane.
struct alignas(64) LaneSums {
  double first[kLanes];
  double second[kLanes];
};

// Of one block of channels: (x - mean) * factor + shift is the normalized x.
struct Normalization {
  Lanes mean, factor, shift;
};

// first: sum of x - pivot; second: of its square.
template <typename T>
void sum_moments(const T* x, std::int64_t length, const Lanes& pivot, LaneSums& sums);

// y = activation(normalized x + residual); `residual` may be null. `stream`: y goes around the caches.
template <typename T>
void apply_normalization(const T* x, const T* residual, T* y, std::int64_t length, const Normalization& normalization,
                         graph::Activation activation, bool stream);

// g is dy where the activation passed the normalized x on, else 0. first: sum of g; second: of g * (x - mean).
template <typename T>
void sum_gradients(const T* x, const T* dy, std::int64_t length, const Normalization& normalization,
                   graph::Activation activation, LaneSums& sums);

// dx = g * factor - constant - (x - mean) * slope
template <typename T>
void apply_gradient(const T* x, const T* dy, T* dx, std::int64_t length, const Normalization& normalization,
                    const Lanes& constant, const Lanes& slope, graph::Activation activation, bool stream);

}  // namespace sluice::kernels
