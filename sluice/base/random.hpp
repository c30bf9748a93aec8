// Counter-based random numbers: the value depends only on (seed, stream, index), never on call order or threads,
// so initial parameters and synthetic data are the same bits whatever the plan.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

namespace sluice {

// SplitMix64's finaliser: a bijection on 64-bit words with good avalanche.
constexpr std::uint64_t mix64(std::uint64_t word) {
  word ^= word >> 30;
  word *= 0xbf58476d1ce4e5b9ULL;
  word ^= word >> 27;
  word *= 0x94d049bb133111ebULL;
  return word ^ (word >> 31);
}

constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return mix64(mix64(seed + 0x9e3779b97f4a7c15ULL * (stream + 1)) + 0x9e3779b97f4a7c15ULL * (index + 1));
}

// Uniform in [0, 1) with 24 bits.
inline float random_uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return static_cast<float>(random_bits(seed, stream, index) >> 40) * 0x1p-24F;
}

// Standard normal by Box-Muller from one 64-bit draw (32 bits for each of the two uniforms).
inline float random_normal(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  const std::uint64_t bits = random_bits(seed, stream, index);
  const double u = (static_cast<double>(bits >> 32) + 1.0) * 0x1p-32;
  const double v = static_cast<double>(bits & 0xffffffffULL) * 0x1p-32;
  return static_cast<float>(std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * v));
}

// A stream number from a name (FNV-1a), so that each tensor draws its own numbers.
constexpr std::uint64_t stream_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

// Between the streams of one random op in a batch and in the next.
inline constexpr std::uint64_t kStreamsApart = 0x9e3779b97f4a7c15ULL;

}  // namespace sluice
