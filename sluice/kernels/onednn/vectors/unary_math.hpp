// The functions that oneDNN has no primitive for, and their slopes, for the loops of unary_loop.cpp.
//
// By function, so that a loop over one is vector code where the arithmetic is; what the C library computes goes element
// by element. `saved` is the output where backward_reads_output() says so, else the input.
#pragma once

#include <algorithm>
#include <cmath>

#include "sluice/graph/ops/op.hpp"
#include "sluice/kernels/onednn/vectors/vector_math.hpp"

namespace sluice::kernels {

// log(1 + z) of z in [0, 1]: 2 artanh(z / (2 + z)). Relative error below 3e-7.
SLUICE_FORCE_INLINE float vector_log_above_one(float z) {
  const float s = z / (2.0F + z);
  const float u = s * s;
  const float tail = 1.0F / 9 + u * (1.0F / 11 + u * (1.0F / 13));
  return 2.0F * s * (1.0F + u * (1.0F / 3 + u * (1.0F / 5 + u * (1.0F / 7 + u * tail))));
}

// x = 2^n m with m in [1 / sqrt 2, sqrt 2): n ln 2 + 2 artanh((m - 1) / (m + 1)). (oneDNN's is 1e-6 off near 1.)
SLUICE_FORCE_INLINE float vector_log(float x) {
  constexpr float kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;
  const bool tiny = x < std::numeric_limits<float>::min();
  const float scaled = tiny ? x * 0x1p24F : x;
  const auto bits = std::bit_cast<std::uint32_t>(scaled);  // wraps around below zero, where m does not matter
  const std::int32_t whole = static_cast<std::int32_t>(bits - 0x3f3504f3U) >> 23;  // from 1 / sqrt 2 on
  const float m = std::bit_cast<float>(bits - (static_cast<std::uint32_t>(whole) << 23));
  const float n = static_cast<float>(whole) - (tiny ? 24.0F : 0.0F);
  const float s = (m - 1.0F) / (m + 1.0F);
  const float u = s * s;
  const float series = 2.0F * s * (1.0F + u * (1.0F / 3 + u * (1.0F / 5 + u * (1.0F / 7 + u * (1.0F / 9)))));
  const float finite = n * kLn2High + (n * kLn2Low + series);
  const float positive = x > std::numeric_limits<float>::max() ? x : finite;  // infinity
  const float limit = x == 0.0F ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  return x > 0.0F ? positive : limit;
}

SLUICE_FORCE_INLINE float vector_softplus(float x) {
  return std::max(x, 0.0F) + vector_log_above_one(vector_exp(-std::fabs(x)));
}

// tanh(log(1 + e^x)) = (1 - r) / (1 + r) with r = (1 + e^x)^-2, made of e^-|x| so that nothing overflows.
SLUICE_FORCE_INLINE float tanh_of_softplus(float x) {
  const float e = vector_exp(-std::fabs(x));
  const float above = (1.0F + 2.0F * e) / (1.0F + 2.0F * e + 2.0F * e * e);
  const float below = (e * e + 2.0F * e) / (e * e + 2.0F * e + 2.0F);
  return x >= 0.0F ? above : below;
}

template <graph::UnaryFunction Function>
SLUICE_FORCE_INLINE float unary_value(float x, float alpha, float beta) {
  using enum graph::UnaryFunction;
  if constexpr (Function == kErf) return vector_erf(x);
  if constexpr (Function == kLog) return vector_log(x);
  if constexpr (Function == kHardSigmoid) return std::min(std::max(alpha * x + beta, 0.0F), 1.0F);
  if constexpr (Function == kSoftplus) return vector_softplus(x);
  if constexpr (Function == kMish) return x * tanh_of_softplus(x);
  if constexpr (Function == kSoftsign) return x / (1.0F + std::fabs(x));
  if constexpr (Function == kShrink) return x > alpha ? x - beta : x < -alpha ? x + beta : 0.0F;
  if constexpr (Function == kThreshold) return x > alpha ? x : 0.0F;
  if constexpr (Function == kSin) return std::sin(x);
  if constexpr (Function == kCos) return std::cos(x);
  if constexpr (Function == kTan) return std::tan(x);
  if constexpr (Function == kAsin) return std::asin(x);
  if constexpr (Function == kAcos) return std::acos(x);
  if constexpr (Function == kAtan) return std::atan(x);
  if constexpr (Function == kSinh) return std::sinh(x);
  if constexpr (Function == kCosh) return std::cosh(x);
  if constexpr (Function == kAsinh) return std::asinh(x);
  if constexpr (Function == kAtanh) return std::atanh(x);
  if constexpr (Function == kSign) return x > 0.0F ? 1.0F : x < 0.0F ? -1.0F : x;
  if constexpr (Function == kFloor) return std::floor(x);
  if constexpr (Function == kCeil) return std::ceil(x);
  if constexpr (Function == kRound) return std::nearbyint(x);
  if constexpr (Function == kIsNan) return std::isnan(x) ? 1.0F : 0.0F;
  if constexpr (Function == kIsInfinite) {
    const bool counts = x > 0.0F ? beta != 0.0F : alpha != 0.0F;
    return std::isinf(x) && counts ? 1.0F : 0.0F;
  }
}

template <graph::UnaryFunction Function>
SLUICE_FORCE_INLINE float unary_slope(float saved, float alpha, float /*beta*/) {
  using enum graph::UnaryFunction;
  constexpr float kTwoOverRootPi = 1.12837917F;
  if constexpr (Function == kErf) return kTwoOverRootPi * vector_exp(-saved * saved);
  if constexpr (Function == kLog) return 1.0F / saved;
  if constexpr (Function == kHardSigmoid) return saved > 0.0F ? (saved < 1.0F ? alpha : 0.0F) : 0.0F;
  if constexpr (Function == kSoftplus) return vector_sigmoid(saved);
  if constexpr (Function == kMish) {
    const float tanh = tanh_of_softplus(saved);
    return tanh + saved * (1.0F - tanh * tanh) * vector_sigmoid(saved);
  }
  if constexpr (Function == kSoftsign) {
    const float size = 1.0F + std::fabs(saved);
    return 1.0F / (size * size);
  }
  if constexpr (Function == kShrink) return std::fabs(saved) > alpha ? 1.0F : 0.0F;
  if constexpr (Function == kThreshold) return saved > alpha ? 1.0F : 0.0F;
  if constexpr (Function == kSin) return std::cos(saved);
  if constexpr (Function == kCos) return -std::sin(saved);
  if constexpr (Function == kTan) return 1.0F + std::tan(saved) * std::tan(saved);
  if constexpr (Function == kAsin) return 1.0F / std::sqrt((1.0F - saved) * (1.0F + saved));
  if constexpr (Function == kAcos) return -1.0F / std::sqrt((1.0F - saved) * (1.0F + saved));
  if constexpr (Function == kAtan) return 1.0F / (1.0F + saved * saved);
  if constexpr (Function == kSinh) return std::cosh(saved);
  if constexpr (Function == kCosh) return std::sinh(saved);
  if constexpr (Function == kAsinh) return 1.0F / std::sqrt(saved * saved + 1.0F);
  if constexpr (Function == kAtanh) return 1.0F / ((1.0F - saved) * (1.0F + saved));
  return 0.0F;
}

template <graph::UnaryFunction Function>
using FunctionTag = std::integral_constant<graph::UnaryFunction, Function>;

// Calls visit(FunctionTag<function>{}) for a function of a loop; false where it is oneDNN's.
template <typename Visit>
SLUICE_FORCE_INLINE bool with_loop_function(graph::UnaryFunction function, const Visit& visit) {
  using enum graph::UnaryFunction;
  const auto any_of = [&]<graph::UnaryFunction... All>() __attribute__((always_inline)) {
    return ((function == All ? (visit(FunctionTag<All>{}), true) : false) || ...);
  };
  return any_of.template
  operator()<kErf, kLog, kHardSigmoid, kSoftplus, kMish, kSoftsign, kShrink, kThreshold, kSin, kCos, kTan, kAsin, kAcos,
             kAtan, kSinh, kCosh, kAsinh, kAtanh, kSign, kFloor, kCeil, kRound, kIsNan, kIsInfinite>();
}

}  // namespace sluice::kernels
