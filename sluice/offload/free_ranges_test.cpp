#include "sluice/offload/free_ranges.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(FreeRangesTest, TakesTheLowestThatIsLargeEnough) {
  FreeRanges ranges(100);
  EXPECT_EQ(ranges.take(30), 0);
  EXPECT_EQ(ranges.take(30), 30);
  ranges.give({0, 30});
  EXPECT_EQ(ranges.take(40), 60);
  EXPECT_EQ(ranges.take(40), std::nullopt);
  EXPECT_EQ(ranges.take(20), 0);
  EXPECT_EQ(ranges.free_bytes(), 10);
}

TEST(FreeRangesTest, NeighboursAreOneRangeAgain) {
  FreeRanges ranges(90);
  for (const Bytes begin : {0, 30, 60}) EXPECT_EQ(ranges.take(30), begin);
  ranges.give({0, 30});
  ranges.give({60, 90});
  EXPECT_EQ(ranges.take(60), std::nullopt);
  ranges.give({30, 60});
  EXPECT_EQ(ranges.take(90), 0);
}

TEST(FreeRangesTest, WhatIsFreeCannotBeGiven) {
  FreeRanges ranges(90);
  EXPECT_EQ(ranges.take(30), 0);
  ranges.give({0, 30});
  EXPECT_THROW(ranges.give({0, 30}), std::logic_error);
  EXPECT_THROW(ranges.give({10, 20}), std::logic_error);
}

}  // namespace
}  // namespace sluice
