#include "sluice/base/interval.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

using Range = Interval<int>;

TEST(Interval, ContainsItsBeginButNotItsEnd) {
  const Range range{2, 5};
  EXPECT_FALSE(range.contains(1));
  EXPECT_TRUE(range.contains(2));
  EXPECT_TRUE(range.contains(4));
  EXPECT_FALSE(range.contains(5));
  EXPECT_EQ(range.length(), 3);
}

TEST(Interval, TouchingNeighboursDoNotOverlap) {
  EXPECT_FALSE((Range{0, 2}.overlaps({2, 4})));
  EXPECT_FALSE((Range{2, 4}.overlaps({0, 2})));
  EXPECT_TRUE((Range{0, 3}.overlaps({2, 4})));
  EXPECT_TRUE((Range{0, 9}.overlaps({3, 4})));
  EXPECT_TRUE((Range{3, 4}.overlaps({0, 9})));
}

TEST(Interval, IsEmptyWhenItEndsWhereItBegins) {
  EXPECT_TRUE(Range{}.empty());
  EXPECT_TRUE((Range{3, 3}.empty()));
  EXPECT_TRUE((Range{4, 3}.empty()));
  EXPECT_FALSE((Range{3, 4}.empty()));
}

TEST(Interval, OrdersByBeginThenEnd) {
  EXPECT_LT((Range{1, 9}), (Range{2, 3}));
  EXPECT_LT((Range{1, 3}), (Range{1, 9}));
  EXPECT_EQ((Range{1, 3}), (Range{1, 3}));
}

}  // namespace
}  // namespace sluice
