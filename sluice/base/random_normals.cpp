// The logarithm and the cosine are polynomials, in a loop that compilers turn into vector code. They differ from the C
// library's by far less than kError, so that the float is the same wherever both ends of that interval round to it. Where
// they do not (one value in some thousand), the C library is asked.
#include "sluice/base/random_normals.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "sluice/base/random.hpp"

namespace sluice {
namespace {

constexpr std::size_t kBlock = 512;
constexpr double kError = 1e-12;  // relative to the radius
using Floats = std::array<float, kBlock>;

constexpr std::uint64_t kTwoTo52 = 0x4330000000000000ULL;  // as a double; below its bits an integer adds itself
constexpr double kRounds = 0x1.8p52;                       // added and taken off

[[gnu::always_inline]] inline double small_integer(std::uint64_t value) {
  return std::bit_cast<double>(value | kTwoTo52) - 0x1p52;
}

template <std::size_t Terms>
[[gnu::always_inline]] inline double polynomial(const std::array<double, Terms>& terms, double x) {
  double sum = terms[0];
  for (std::size_t i = 1; i < Terms; ++i) sum = sum * x + terms[i];
  return sum;
}

// Of value / 2^32, for integers from 1 to 2^32: value = m 2^e with m from sqrt(1/2) to sqrt(2).
[[gnu::always_inline]] inline double log_of(double value) {
  constexpr std::array kOddParts{1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11,
                                 1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3,  1.0};
  constexpr std::uint64_t kHalfOfRoot = 0x3fe6a09e667f3bcdULL;  // sqrt(1/2)
  constexpr double kLogOf2 = 0.6931471805599453;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t exponent = (bits - kHalfOfRoot) >> 52;
  const double m = std::bit_cast<double>(bits - (exponent << 52));
  const double s = (m - 1) / (m + 1);
  return (small_integer(exponent) - 32) * kLogOf2 + 2 * s * polynomial(kOddParts, s * s);
}

// Of a quarter turn times `quarters`, from 0 to 4.
[[gnu::always_inline]] inline double cosine_of(double quarters) {
  constexpr std::array kCosine{1.0 / 20922789888000,
                               -1.0 / 87178291200,
                               1.0 / 479001600,
                               -1.0 / 3628800,
                               1.0 / 40320,
                               -1.0 / 720,
                               1.0 / 24,
                               -1.0 / 2,
                               1.0};
  constexpr std::array kSine{-1.0 / 1307674368000, 1.0 / 6227020800, -1.0 / 39916800, 1.0 / 362880,
                             -1.0 / 5040,          1.0 / 120,        -1.0 / 6,        1.0};
  constexpr double kQuarter = 1.5707963267948966;
  const double rounded = quarters + kRounds;
  const auto turn = std::bit_cast<std::uint64_t>(rounded);
  const double r = (quarters - (rounded - kRounds)) * kQuarter;
  const double odd = small_integer(turn & 1);
  const double value = odd * r * polynomial(kSine, r * r) + (1 - odd) * polynomial(kCosine, r * r);
  const std::uint64_t sign = ((turn + 1) & 2) << 62;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) ^ sign);
}

// By Newton's rule: the C library's may set errno, which no loop of vectors does.
[[gnu::always_inline]] inline double root_of(double square) {
  double inverse = std::bit_cast<double>(0x5fe6eb50c7b537a9ULL - (std::bit_cast<std::uint64_t>(square) >> 1));
  for (int i = 0; i < 4; ++i) inverse *= 1.5 - 0.5 * square * inverse * inverse;
  return square * inverse;
}

[[gnu::always_inline]] inline void draw(std::uint64_t stream_bits, std::uint64_t first, Floats& below, Floats& above) {
  for (std::size_t i = 0; i < kBlock; ++i) {
    const std::uint64_t bits = mix64(stream_bits + 0x9e3779b97f4a7c15ULL * (first + i + 1));
    const double radius = root_of(-2 * log_of(small_integer(bits >> 32) + 1));
    const double value = radius * cosine_of(small_integer(bits & 0xffffffffULL) * 0x1p-30);
    below[i] = static_cast<float>(value - radius * kError);
    above[i] = static_cast<float>(value + radius * kError);
  }
}

[[gnu::target("avx512f")]] void draw_wide(std::uint64_t stream_bits, std::uint64_t first, Floats& below,
                                          Floats& above) {
  draw(stream_bits, first, below, above);
}

}  // namespace

void fill_random_normals(std::uint64_t seed, std::uint64_t stream, std::uint64_t first, std::span<float> values) {
  const bool wide = __builtin_cpu_supports("avx512f") != 0;
  const std::uint64_t stream_bits = mix64(seed + 0x9e3779b97f4a7c15ULL * (stream + 1));
  Floats below, above;
  for (std::size_t begin = 0; begin < values.size(); begin += kBlock) {
    wide ? draw_wide(stream_bits, first + begin, below, above) : draw(stream_bits, first + begin, below, above);
    for (std::size_t i = 0; i < std::min(kBlock, values.size() - begin); ++i) {
      const bool sure = below[i] == above[i] && below[i] != 0;  // zeros have a sign
      values[begin + i] = sure ? below[i] : random_normal(seed, stream, first + begin + i);
    }
  }
}

}  // namespace sluice
