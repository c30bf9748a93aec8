// exp, tanh, the logistic function and erf for vectorised loops, in fp32.
//
// The C library's versions are scalar calls. These are branch-free, so a loop over them becomes vector code in a
// SLUICE_VECTOR_CLONES function. Relative error below 3e-7 (erf: absolute error below 6e-7). NaN gives NaN, infinities
// their limits; exp gives 0 below -86.9, where results near the smallest normal number begin.
#pragma once

#include <bit>
#include <cmath>
#include <limits>

#include "sluice/kernels/onednn/vectors/element_loops.hpp"

namespace sluice::kernels {

// e^x = 2^n e^r with |r| <= ln 2 / 2; e^r by a polynomial fitted at Chebyshev nodes.
SLUICE_FORCE_INLINE float vector_exp(float x) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer, in the low bits
  constexpr float kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;
  constexpr float kLargest = 88.72284F, kSmallest = -86.9F;
  float clamped = x > kLargest ? kLargest : x;
  clamped = clamped < kSmallest ? kSmallest : clamped;
  const float shifted = clamped * 1.44269504F + kRound;
  const float n = shifted - kRound;
  const float r = (clamped - n * kLn2High) - n * kLn2Low;
  const float tail = 0.5F + r * (0.166665766F + r * (4.16665542e-2F + r * (8.36323288e-3F + r * 1.39262508e-3F)));
  const float power = 1.0F + (r + r * r * tail);
  // 2^(n - 1), as 2^128 is no number.
  const float half_scale = std::bit_cast<float>((std::bit_cast<std::int32_t>(shifted) - 0x4B400000 + 126) << 23);
  float result = power * half_scale * 2.0F;
  result = x > kLargest ? std::numeric_limits<float>::infinity() : result;
  return x < kSmallest ? 0.0F : result;
}

SLUICE_FORCE_INLINE float vector_sigmoid(float x) { return 1.0F / (1.0F + vector_exp(-x)); }

// Odd polynomial near 0, 1 - 2 / (e^2x + 1) elsewhere.
SLUICE_FORCE_INLINE float vector_tanh(float x) {
  const float u = x * x;
  const float odd =
      -0.333333289F + u * (0.133327697F + u * (-5.38509096e-2F + u * (2.09971790e-2F + u * -6.09671416e-3F)));
  const float near = x + x * u * odd;
  const float far = 1.0F - 2.0F / (vector_exp(2.0F * x) + 1.0F);
  return std::fabs(x) < 0.625F ? near : far;
}

// Abramowitz & Stegun 7.1.26: 1 - (a1 t + ... + a5 t^5) e^(-x^2), t = 1 / (1 + p |x|).
SLUICE_FORCE_INLINE float vector_erf(float x) {
  const float size = std::fabs(x);
  const float t = 1.0F / (1.0F + 0.3275911F * size);
  const float tail =
      t * (0.254829592F + t * (-0.284496736F + t * (1.421413741F + t * (-1.453152027F + t * 1.061405429F))));
  return std::copysign(1.0F - tail * vector_exp(-x * x), x);
}

}  // namespace sluice::kernels
