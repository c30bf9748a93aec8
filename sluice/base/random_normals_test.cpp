#include "sluice/base/random_normals.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "sluice/base/random.hpp"

namespace sluice {
namespace {

TEST(RandomNormals, HaveTheBitsOfThoseDrawnOneByOne) {
  for (const std::uint64_t seed : {0ULL, 1ULL, 0x123456789abcdefULL}) {
    std::vector<float> values(700'001);
    fill_random_normals(seed, stream_of("w"), 5 * seed, values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float alone = random_normal(seed, stream_of("w"), 5 * seed + i);
      ASSERT_EQ(std::bit_cast<std::uint32_t>(values[i]), std::bit_cast<std::uint32_t>(alone)) << seed << " " << i;
    }
  }
}

TEST(RandomNormals, AnyNumberOfThem) {
  for (const std::size_t count : {0UL, 1UL, 511UL, 512UL, 513UL}) {
    std::vector<float> values(count + 1, 99);
    fill_random_normals(1, 2, 3, std::span(values).first(count));
    EXPECT_EQ(values[count], 99);
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(values[i], random_normal(1, 2, 3 + i));
  }
}

}  // namespace
}  // namespace sluice
