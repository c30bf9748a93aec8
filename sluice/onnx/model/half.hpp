// IEEE half precision and bfloat16: exporters store weights in them; Sluice computes in single precision.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace sluice::onnx {

inline float float_of_half(std::uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const int fraction = half & 1023;
  const float sign = (half & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
  return sign * std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
}

// To the nearest, ties to even; too large a value becomes infinite.
inline std::uint16_t half_of_float(float value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00);
  const float size = std::abs(value);
  if (size >= 65520.0F) return static_cast<std::uint16_t>(sign | 0x7c00);
  if (size < std::ldexp(1.0F, -14)) {
    return static_cast<std::uint16_t>(sign | static_cast<int>(std::nearbyint(std::ldexp(size, 24))));
  }
  int exponent = 0;
  std::frexp(size, &exponent);  // size = f * 2^exponent, f in [0.5, 1)
  const int fraction = static_cast<int>(std::nearbyint(std::ldexp(size, 11 - exponent)));  // in [1024, 2048]
  return static_cast<std::uint16_t>(sign | (((exponent + 14) << 10) + fraction - 1024));
}

inline float float_of_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// To the nearest, ties to even.
inline std::uint16_t bfloat16_of_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

}  // namespace sluice::onnx
