// Floats by their bits, for tests that promise the same bits: as numbers 0 equals -0, and NaN does not equal itself.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::testing {

inline std::vector<std::uint32_t> bits_of(std::span<const float> values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

}  // namespace sluice::testing
