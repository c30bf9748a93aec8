#include "sluice/experiment/comparison.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace sluice {
namespace {

TEST(SpreadTest, MedianOfOddAndEvenCounts) {
  const Spread odd = spread_of({3, 1, 2});
  EXPECT_EQ(odd.median, 2);
  EXPECT_EQ(odd.min, 1);
  EXPECT_EQ(odd.max, 3);
  EXPECT_EQ(spread_of({4, 1, 2, 3}).median, 2.5);
  EXPECT_EQ(spread_of({7}).median, 7);
  EXPECT_THAT([] { spread_of({}); }, ::testing::Throws<std::logic_error>());
}

}  // namespace
}  // namespace sluice
