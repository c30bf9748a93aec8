// fp16 (IEEE binary16): 5 bits of exponent and 10 of mantissa; up to 65504, down to 6e-8.
//
// Widening is exact. Rounding goes to the nearest, ties to even, as F16C's vcvtps2ph does: values from 65520 become
// infinite, NaN stays NaN (quiet), and denormals are kept. Without branches, so that loops over it become vectors.
#pragma once

#include <bit>
#include <cstdint>

namespace sluice::kernels {

struct Float16 {
  std::uint16_t bits = 0;
};

// In the bits of an fp32: an fp16's exponent and mantissa moved into place, its exponent too small by 112.
constexpr float to_float(Float16 value) {
  constexpr float kExponentGap = 0x1p112F;
  const std::uint32_t sign = (value.bits & 0x8000U) << 16;
  const std::uint32_t magnitude = (value.bits & 0x7fffU) << 13;
  const auto finite = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * kExponentGap);
  const std::uint32_t widened = magnitude >= 0x0f800000U ? magnitude | 0x7f800000U : finite;
  return std::bit_cast<float>(sign | widened);
}

constexpr Float16 to_fp16(float value) {
  // Beside it, an fp32 has an fp16's denormals as its last bits.
  constexpr std::uint32_t kDenormalMagic = 0x3f000000U;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits & 0x80000000U) >> 16;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t normal = (magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
  const auto denormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + std::bit_cast<float>(kDenormalMagic)) -
      kDenormalMagic;
  const std::uint32_t infinite = magnitude > 0x7f800000U ? 0x7e00U : 0x7c00U;
  const std::uint32_t finite = magnitude < 0x38800000U ? denormal : normal;
  return {static_cast<std::uint16_t>(sign | (magnitude >= 0x47800000U ? infinite : finite))};
}

}  // namespace sluice::kernels
