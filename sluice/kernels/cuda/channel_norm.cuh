// What the passes of batch norms do with a pack of elements of one channel: how they load it, and either add it to sums
// or store what becomes of it (channels.cuh).
#pragma once

#include <cmath>
#include <cstdint>

#include "sluice/kernels/cuda/activation.cuh"
#include "sluice/kernels/cuda/channels.cuh"

namespace sluice::kernels::cuda {

// The norm of one channel. It leaves the compiler nothing to fuse, so every kernel rounds alike: what is made again
// later is the same bits, and a gradient passes exactly where the forward pass did.
struct ChannelNorm {
  float mean, inverse, scale, shift;

  __device__ float normalized(float x) const { return (x - mean) * inverse; }
  __device__ float apply(float x) const { return fmaf(normalized(x), scale, shift); }
};

// From the statistics as they are stored.
struct Norms {
  const float* stats;
  const float* scale_shift;
  std::int64_t channels;
  float epsilon;

  __device__ ChannelNorm of(std::int64_t c) const {
    return {stats[c], rsqrtf(stats[channels + c] + epsilon), scale_shift[c], scale_shift[channels + c]};
  }
};

// What activate() does, without branches.
struct Bounds {
  float low, high;

  explicit Bounds(graph::Activation activation)
      : low(activation == graph::Activation::kNone ? -INFINITY : 0.0F),
        high(activation == graph::Activation::kRelu6 ? 6.0F : INFINITY) {}

  __device__ float of(float value) const {
    const float above = value < low ? low : value;
    return above > high ? high : above;
  }
};

// y of one channel.
template <typename Packs, bool kAdds>
struct ApplyChannel {
  struct Loaded {
    typename Packs::Stored x, residual;
  };

  ChannelNorm norm;
  Packs x, residual, y;
  Bounds bounds;

  __device__ Loaded load(std::int64_t i) const {
    Loaded loaded;
    loaded.x = x.read(i);
    if constexpr (kAdds) loaded.residual = residual.read(i);
    return loaded;
  }
  __device__ void store(std::int64_t i, const Loaded& loaded) const {
    auto values = Packs::values(loaded.x);
    const auto others = Packs::values(loaded.residual);
    for (int k = 0; k < Packs::kWidth; ++k)
      values.of[k] = bounds.of(norm.apply(values.of[k]) + (kAdds ? others.of[k] : 0.0F));
    y.write(i, values);
  }
};

// Sums of distances from `origin` and of their squares.
template <typename Packs>
struct MomentsChannel {
  using Loaded = typename Packs::Stored;

  Packs x;
  float origin;

  __device__ Loaded load(std::int64_t i) const { return x.read(i); }
  __device__ void add(const Loaded& loaded, Sums<2>& sums) const {
    for (const float value : Packs::values(loaded).of) {
      const float distance = value - origin;
      sums.of[0] += distance;
      sums.of[1] += distance * distance;
    }
  }
};

// What the backward passes read of one channel.
template <typename Packs>
struct GradientChannel {
  struct Loaded {
    typename Packs::Stored x, dy;
  };
  // Of one element: x normalized, and the gradient before the activation.
  struct Element {
    float normalized, gradient;
  };

  ChannelNorm norm;
  Packs x, dy;
  graph::Activation activation;

  __device__ Loaded load(std::int64_t i) const { return {x.read(i), dy.read(i)}; }
  __device__ Element element(float of_x, float of_dy) const {
    return {norm.normalized(of_x), passes(activation, norm.apply(of_x)) ? of_dy : 0.0F};
  }
  __device__ void add(const Loaded& loaded, Sums<2>& sums) const {
    const auto of_x = Packs::values(loaded.x);
    const auto of_dy = Packs::values(loaded.dy);
    for (int k = 0; k < Packs::kWidth; ++k) {
      const Element each = element(of_x.of[k], of_dy.of[k]);
      sums.of[0] += each.gradient * each.normalized;
      sums.of[1] += each.gradient;
    }
  }
};

// dx of one channel.
template <typename Packs>
struct ApplyGradientChannel {
  using Loaded = typename GradientChannel<Packs>::Loaded;

  GradientChannel<Packs> of;
  Packs dx;
  float mean, mean_along_x;  // of the gradient

  __device__ Loaded load(std::int64_t i) const { return of.load(i); }
  __device__ void store(std::int64_t i, const Loaded& loaded) const {
    const auto x = Packs::values(loaded.x);
    auto values = Packs::values(loaded.dy);
    for (int k = 0; k < Packs::kWidth; ++k) {
      const auto each = of.element(x.of[k], values.of[k]);
      values.of[k] = of.norm.scale * of.norm.inverse * (each.gradient - mean - each.normalized * mean_along_x);
    }
    dx.write(i, values);
  }
};

}  // namespace sluice::kernels::cuda
