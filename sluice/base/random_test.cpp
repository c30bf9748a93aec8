#include "sluice/base/random.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "sluice/base/as_index.hpp"

namespace sluice {
namespace {

constexpr int kDraws = 100000;

TEST(Random, DependsOnSeedStreamAndIndexAlone) {
  EXPECT_EQ(random_bits(1, 2, 3), random_bits(1, 2, 3));
  std::set<std::uint64_t> draws;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (std::uint64_t stream = 0; stream < 10; ++stream) {
      for (std::uint64_t index = 0; index < 10; ++index) draws.insert(random_bits(seed, stream, index));
    }
  }
  EXPECT_EQ(draws.size(), 1000U);
}

// Checkpoints and recorded parameter hashes rely on these values staying as they are.
TEST(Random, NeverChangesItsNumbers) {
  EXPECT_EQ(stream_of(""), 0xcbf29ce484222325ULL);
  EXPECT_EQ(stream_of("a"), 0xaf63dc4c8601ec8cULL);
  EXPECT_EQ(mix64(0x9e3779b97f4a7c15ULL), 0xe220a8397b1dcdafULL);  // SplitMix64's first output from state 0
}

TEST(Random, UniformFillsTheUnitIntervalEvenly) {
  std::array<int, 10> bins{};
  for (int i = 0; i < kDraws; ++i) {
    const float value = random_uniform(7, 0, static_cast<std::uint64_t>(i));
    ASSERT_GE(value, 0.0F);
    ASSERT_LT(value, 1.0F);
    ++bins.at(as_index(value * 10));
  }
  for (const int count : bins) EXPECT_NEAR(count, kDraws * 0.1, kDraws * 0.01);
}

TEST(Random, NormalHasUnitVarianceAndRightTails) {
  double sum = 0;
  double squares = 0;
  int beyond_two = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double value = random_normal(7, 1, static_cast<std::uint64_t>(i));
    ASSERT_TRUE(std::isfinite(value));
    sum += value;
    squares += value * value;
    beyond_two += std::abs(value) > 2.0 ? 1 : 0;
  }
  EXPECT_NEAR(sum / kDraws, 0.0, 0.02);
  EXPECT_NEAR(squares / kDraws, 1.0, 0.02);
  EXPECT_NEAR(static_cast<double>(beyond_two) / kDraws, 0.0455, 0.004);
}

}  // namespace
}  // namespace sluice
