#include "sluice/base/spread.hpp"

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

TEST(SpreadTest, QuantilesLieBetweenTheTwoNearest) {
  EXPECT_DOUBLE_EQ(quantile_of({3, 1, 2}, 0.9), 2.8);
  EXPECT_EQ(quantile_of({3, 1, 2}, 0), 1);
  EXPECT_EQ(quantile_of({3, 1, 2}, 1), 3);
  EXPECT_THAT([] { quantile_of({}, 0.5); }, ::testing::Throws<std::logic_error>());
}

TEST(SpreadTest, QuartilesLeaveAnOutlierOutside) {
  const Spread spread = spread_of({1, 2, 3, 4, 100});
  EXPECT_EQ(spread.q1, 2);
  EXPECT_EQ(spread.q3, 4);
  const Spread between = spread_of({1, 2, 3, 5});
  EXPECT_DOUBLE_EQ(between.q1, 1.75);
  EXPECT_DOUBLE_EQ(between.q3, 3.5);
  EXPECT_EQ(spread_of({7}).q1, 7);
  EXPECT_EQ(spread_of({7}).q3, 7);
}

}  // namespace
}  // namespace sluice
