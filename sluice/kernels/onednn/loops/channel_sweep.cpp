#include "sluice/kernels/onednn/loops/channel_sweep.hpp"

#include <algorithm>

#include "sluice/kernels/onednn/vectors/element_loops.hpp"

namespace sluice::kernels {
namespace {

constexpr std::int64_t kChunk = 256;  // vectors summed in fp32 before they go to fp64
constexpr int kUnrolled = 4;

struct NormalizationVectors {
  Vector mean, factor, shift;
};

SLUICE_INLINE inline void load_all(const Normalization& from, NormalizationVectors& to) {
  load(from.mean.value, to.mean);
  load(from.factor.value, to.factor);
  load(from.shift.value, to.shift);
}

SLUICE_INLINE inline void normalize(const Vector& centred, const NormalizationVectors& by, Vector& result) {
  result = centred * by.factor + by.shift;
}

template <graph::Activation FusedActivation>
SLUICE_INLINE inline void mask(const Vector& centred, const NormalizationVectors& by, Vector& gradient) {
  if constexpr (FusedActivation == graph::Activation::kNone) return;
  const Vector zero{};
  Vector z;
  normalize(centred, by, z);
  if constexpr (FusedActivation == graph::Activation::kRelu6) {
    // 0 < z < 6, as one comparison (6 - z is exact where it is the smaller): GCC makes scalar code of two.
    const Vector from_top = 6.0F - z;
    z = z < from_top ? z : from_top;
  }
  gradient = z > zero ? gradient : zero;
}

// The last, incomplete vector of a run, in memory of its own.
template <typename T>
struct Tail {
  Tail(const T* from, std::int64_t begin, std::int64_t length, float filling) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) store(values, lane, filling);
    std::copy(from + begin, from + length, values);
  }
  T values[kLanes];
};

// Calls `term(begin, first, second)` for each vector of a run and adds what it gives.
template <typename Term>
SLUICE_INLINE inline void sum_vectors(std::int64_t vectors, const Term& term, DoubleVector& first,
                                      DoubleVector& second) {
  for (std::int64_t chunk = 0; chunk < vectors; chunk += kChunk) {
    const std::int64_t end = std::min(chunk + kChunk, vectors);
    Vector firsts[kUnrolled] = {};
    Vector seconds[kUnrolled] = {};
    std::int64_t i = chunk;
    for (; i + kUnrolled <= end; i += kUnrolled)
      for (int k = 0; k < kUnrolled; ++k) term((i + k) * kLanes, firsts[k], seconds[k]);
    for (; i < end; ++i) term(i * kLanes, firsts[0], seconds[0]);
    add_to((firsts[0] + firsts[1]) + (firsts[2] + firsts[3]), first);
    add_to((seconds[0] + seconds[1]) + (seconds[2] + seconds[3]), second);
  }
}

SLUICE_INLINE inline void keep(const DoubleVector& first, const DoubleVector& second, LaneSums& sums) {
  std::memcpy(sums.first, &first, sizeof(first));
  std::memcpy(sums.second, &second, sizeof(second));
}

template <typename T>
SLUICE_INLINE inline void moments(const T* x, std::int64_t length, const Lanes& pivot_lanes, LaneSums& sums) {
  Vector pivot;
  load(pivot_lanes.value, pivot);
  const auto term_of = [&](const T* from) SLUICE_INLINE {
    return [from, &pivot](std::int64_t begin, Vector& first, Vector& second) SLUICE_INLINE {
      Vector value;
      load(from + begin, value);
      value -= pivot;
      first += value;
      second += value * value;
    };
  };
  DoubleVector first{};
  DoubleVector second{};
  const std::int64_t vectors = length / kLanes;
  sum_vectors(vectors, term_of(x), first, second);
  if (length % kLanes != 0) {
    const Tail<T> tail(x, vectors * kLanes, length, pivot_lanes.value[0]);
    sum_vectors(1, term_of(tail.values), first, second);
  }
  keep(first, second, sums);
}

template <graph::Activation FusedActivation, typename T>
SLUICE_INLINE inline void gradients(const T* x, const T* dy, std::int64_t length, const Normalization& normalization,
                                    LaneSums& sums) {
  NormalizationVectors by;
  load_all(normalization, by);
  const auto term_of = [&](const T* x_from, const T* dy_from) SLUICE_INLINE {
    return [x_from, dy_from, &by](std::int64_t begin, Vector& first, Vector& second) SLUICE_INLINE {
      Vector centred;
      Vector gradient;
      load(x_from + begin, centred);
      load(dy_from + begin, gradient);
      centred -= by.mean;
      mask<FusedActivation>(centred, by, gradient);
      first += gradient;
      second += gradient * centred;
    };
  };
  DoubleVector first{};
  DoubleVector second{};
  const std::int64_t vectors = length / kLanes;
  sum_vectors(vectors, term_of(x, dy), first, second);
  if (length % kLanes != 0) {
    const Tail<T> x_tail(x, vectors * kLanes, length, 0.0F);
    const Tail<T> dy_tail(dy, vectors * kLanes, length, 0.0F);
    sum_vectors(1, term_of(x_tail.values, dy_tail.values), first, second);
  }
  keep(first, second, sums);
}

// Calls `make(begin, result)` for each vector of a run and stores the results.
template <typename Width, typename T, typename Make>
SLUICE_INLINE inline void store_vectors(std::int64_t vectors, T* to, bool streaming, const Make& make) {
  if (streaming) {
    for (std::int64_t i = 0; i < vectors; ++i) {
      Vector result;
      make(i * kLanes, result);
      stream<Width>(result, to + i * kLanes);
    }
  } else {
    for (std::int64_t i = 0; i < vectors; ++i) {
      Vector result;
      make(i * kLanes, result);
      store(result, to + i * kLanes);
    }
  }
}

template <typename Width, graph::Activation FusedActivation, bool HasResidual, typename T>
SLUICE_INLINE inline void apply(const T* x, const T* residual, T* y, std::int64_t length,
                                const Normalization& normalization, bool streaming) {
  NormalizationVectors by;
  load_all(normalization, by);
  const auto make_from = [&](const T* x_from, const T* residual_from) SLUICE_INLINE {
    return [x_from, residual_from, &by](std::int64_t begin, Vector& result) SLUICE_INLINE {
      Vector centred;
      load(x_from + begin, centred);
      centred -= by.mean;
      normalize(centred, by, result);
      if constexpr (HasResidual) {
        Vector other;
        load(residual_from + begin, other);
        result += other;
      } else {
        static_cast<void>(residual_from);
      }
      activate<FusedActivation>(result);
    };
  };
  const std::int64_t vectors = length / kLanes;
  store_vectors<Width>(vectors, y, streaming, make_from(x, residual));
  if (length % kLanes != 0) {
    const Tail<T> x_tail(x, vectors * kLanes, length, 0.0F);
    const Tail<T> residual_tail(HasResidual ? residual : x, vectors * kLanes, length, 0.0F);
    T result[kLanes];
    store_vectors<Width>(1, result, false, make_from(x_tail.values, residual_tail.values));
    std::copy(result, result + length % kLanes, y + vectors * kLanes);
  }
}

template <typename Width, graph::Activation FusedActivation, typename T>
SLUICE_INLINE inline void gradient(const T* x, const T* dy, T* dx, std::int64_t length,
                                   const Normalization& normalization, const Lanes& constant_lanes,
                                   const Lanes& slope_lanes, bool streaming) {
  NormalizationVectors by;
  load_all(normalization, by);
  Vector constant;
  Vector slope;
  load(constant_lanes.value, constant);
  load(slope_lanes.value, slope);
  const auto make_from = [&](const T* x_from, const T* dy_from) SLUICE_INLINE {
    return [x_from, dy_from, &by, &constant, &slope](std::int64_t begin, Vector& result) SLUICE_INLINE {
      Vector centred;
      load(x_from + begin, centred);
      load(dy_from + begin, result);
      centred -= by.mean;
      mask<FusedActivation>(centred, by, result);
      result = (result * by.factor - constant) - centred * slope;
    };
  };
  const std::int64_t vectors = length / kLanes;
  store_vectors<Width>(vectors, dx, streaming, make_from(x, dy));
  if (length % kLanes != 0) {
    const Tail<T> x_tail(x, vectors * kLanes, length, 0.0F);
    const Tail<T> dy_tail(dy, vectors * kLanes, length, 0.0F);
    T result[kLanes];
    store_vectors<Width>(1, result, false, make_from(x_tail.values, dy_tail.values));
    std::copy(result, result + length % kLanes, dx + vectors * kLanes);
  }
}

// Calls `body` with the activation as a type.
template <graph::Activation FusedActivation>
using ActivationConstant = std::integral_constant<graph::Activation, FusedActivation>;

template <typename Body>
void with_constant(graph::Activation activation, const Body& body) {
  switch (activation) {
    case graph::Activation::kNone:
      return body(ActivationConstant<graph::Activation::kNone>{});
    case graph::Activation::kRelu:
      return body(ActivationConstant<graph::Activation::kRelu>{});
    case graph::Activation::kRelu6:
      return body(ActivationConstant<graph::Activation::kRelu6>{});
  }
}

}  // namespace

ChannelRuns::ChannelRuns(const Layout& layout, const graph::Shape& shape)
    : samples(shape[0]), channels(shape[1]), blocked(is_blocked_image(layout) && !is_plain(layout)) {
  pixels = graph::element_count(shape) / (samples * channels);
  blocks = blocked ? (channels + kChannelBlock - 1) / kChannelBlock : channels;
  length = blocked ? pixels * kChannelBlock : pixels;
}

template <typename T>
void sum_moments(const T* x, std::int64_t length, const Lanes& pivot, LaneSums& sums) {
  vectorised([&](auto) SLUICE_INLINE { moments(x, length, pivot, sums); });
}

template <typename T>
void apply_normalization(const T* x, const T* residual, T* y, std::int64_t length, const Normalization& normalization,
                         graph::Activation activation, bool stream) {
  with_constant(activation, [&](auto constant) {
    constexpr graph::Activation kFused = decltype(constant)::value;
    if (residual == nullptr) {
      vectorised([&](auto width) SLUICE_INLINE {
        apply<decltype(width), kFused, false>(x, residual, y, length, normalization, stream);
      });
    } else {
      vectorised([&](auto width) SLUICE_INLINE {
        apply<decltype(width), kFused, true>(x, residual, y, length, normalization, stream);
      });
    }
  });
}

template <typename T>
void sum_gradients(const T* x, const T* dy, std::int64_t length, const Normalization& normalization,
                   graph::Activation activation, LaneSums& sums) {
  with_constant(activation, [&](auto constant) {
    constexpr graph::Activation kFused = decltype(constant)::value;
    vectorised([&](auto) SLUICE_INLINE { gradients<kFused>(x, dy, length, normalization, sums); });
  });
}

template <typename T>
void apply_gradient(const T* x, const T* dy, T* dx, std::int64_t length, const Normalization& normalization,
                    const Lanes& constant, const Lanes& slope, graph::Activation activation, bool stream) {
  with_constant(activation, [&](auto activation_constant) {
    constexpr graph::Activation kFused = decltype(activation_constant)::value;
    vectorised([&](auto width) SLUICE_INLINE {
      gradient<decltype(width), kFused>(x, dy, dx, length, normalization, constant, slope, stream);
    });
  });
}

template void sum_moments(const float*, std::int64_t, const Lanes&, LaneSums&);
template void sum_moments(const BFloat16*, std::int64_t, const Lanes&, LaneSums&);
template void apply_normalization(const float*, const float*, float*, std::int64_t, const Normalization&,
                                  graph::Activation, bool);
template void apply_normalization(const BFloat16*, const BFloat16*, BFloat16*, std::int64_t, const Normalization&,
                                  graph::Activation, bool);
template void sum_gradients(const float*, const float*, std::int64_t, const Normalization&, graph::Activation,
                            LaneSums&);
template void sum_gradients(const BFloat16*, const BFloat16*, std::int64_t, const Normalization&, graph::Activation,
                            LaneSums&);
template void apply_gradient(const float*, const float*, float*, std::int64_t, const Normalization&, const Lanes&,
                             const Lanes&, graph::Activation, bool);
template void apply_gradient(const BFloat16*, const BFloat16*, BFloat16*, std::int64_t, const Normalization&,
                             const Lanes&, const Lanes&, graph::Activation, bool);

template void sum_moments(const Float16*, std::int64_t, const Lanes&, LaneSums&);
template void apply_normalization(const Float16*, const Float16*, Float16*, std::int64_t, const Normalization&,
                                  graph::Activation, bool);
template void sum_gradients(const Float16*, const Float16*, std::int64_t, const Normalization&, graph::Activation,
                            LaneSums&);
template void apply_gradient(const Float16*, const Float16*, Float16*, std::int64_t, const Normalization&, const Lanes&,
                             const Lanes&, graph::Activation, bool);

}  // namespace sluice::kernels
