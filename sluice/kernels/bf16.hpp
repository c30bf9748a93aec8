// bf16: the upper half of an fp32, 8 bits of exponent and 7 of mantissa.
//
// Widening is exact. Rounding goes to the nearest, ties to even, as AVX512_BF16's vcvtneps2bf16 does for normal
// numbers; values beyond the largest become infinite, NaN stays NaN (quiet), and denormals are kept.
#pragma once

#include <bit>
#include <cstdint>

namespace sluice::kernels {

struct BFloat16 {
  std::uint16_t bits = 0;
};

constexpr float to_float(BFloat16 value) { return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16); }

constexpr BFloat16 to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return {static_cast<std::uint16_t>((bits >> 16) | 0x40U)};
  return {static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16)};
}

}  // namespace sluice::kernels
