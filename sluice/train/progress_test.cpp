#include "sluice/train/progress.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Progress, TimeLeftIsAtThePaceSinceTheFirstUpdate) {
  EXPECT_DOUBLE_EQ(seconds_left(10, 0, 20, 100).value(), 40);
  EXPECT_DOUBLE_EQ(seconds_left(10, 80, 90, 100).value(), 10);  // what was done before took no time of these
  EXPECT_DOUBLE_EQ(seconds_left(10, 0, 100, 100).value(), 0);
}

TEST(Progress, NobodyKnowsTheTimeLeftBeforeAnythingIsDone) {
  EXPECT_FALSE(seconds_left(10, 0, 0, 100).has_value());
  EXPECT_FALSE(seconds_left(10, 30, 30, 100).has_value());
}

TEST(Progress, ClockHasHoursOnlyWhereThereAreSome) {
  EXPECT_EQ(format_clock(7.4), "0:07");
  EXPECT_EQ(format_clock(23 * 60 + 45), "23:45");
  EXPECT_EQ(format_clock(3600 + 23 * 60 + 45), "1:23:45");
}

}  // namespace
}  // namespace sluice
