#include "sluice/memory/allocators/free_ranges.hpp"

#include <gtest/gtest.h>

namespace sluice::memory {
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

TEST(FreeRangesTest, APartOfARangeIsTaken) {
  FreeRanges ranges(90);
  ranges.take({30, 60});
  EXPECT_EQ(ranges.free_bytes(), 60);
  EXPECT_EQ(ranges.take(40), std::nullopt);
  EXPECT_THROW(ranges.take({20, 40}), std::logic_error) << "a part of it is taken";
  ranges.give({30, 60});
  EXPECT_EQ(ranges.take(90), 0);
}

TEST(FreeRangesTest, TheLargestPartInWholeUnits) {
  FreeRanges ranges(100);
  ranges.take({35, 36});
  EXPECT_EQ(ranges.largest_within(20), (Interval<Bytes>{40, 100}));
  ranges.take({60, 100});
  EXPECT_EQ(ranges.largest_within(20), (Interval<Bytes>{0, 20}));
  EXPECT_EQ(ranges.largest_within(64), std::nullopt);
  EXPECT_EQ(FreeRanges().largest_within(1), std::nullopt);
}

TEST(FreeRangesTest, WhatIsFreeCannotBeGiven) {
  FreeRanges ranges(90);
  EXPECT_EQ(ranges.take(30), 0);
  ranges.give({0, 30});
  EXPECT_THROW(ranges.give({0, 30}), std::logic_error);
  EXPECT_THROW(ranges.give({10, 20}), std::logic_error);
}

}  // namespace
}  // namespace sluice::memory
