#include "sluice/base/progress/progress.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

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

TEST(Progress, WhatIsNotCountedHasTheTimeThatIsKnownBeforehand) {
  EXPECT_EQ(waiting_text("reading", 3, {}), "reading  0:03");
  EXPECT_EQ(waiting_text("reading", 3, {.usual = 10}), "reading  0:03, about 0:07 left");
  EXPECT_EQ(waiting_text("reading", 3, {.at_most = 20}), "reading  0:03, at most 0:17 left");
  EXPECT_EQ(waiting_text("reading", 12, {.usual = 10, .at_most = 20}), "reading  0:12, at most 0:08 left");
  EXPECT_EQ(waiting_text("reading", 30, {.usual = 10, .at_most = 20}), "reading  0:30");
}

const ProgressState kHalf{.what = "measuring ops", .detail = "conv1", .done = 5, .total = 10, .left = 7};

TEST(Progress, TheBarIsAsFullAsTheWorkIsDone) {
  EXPECT_EQ(progress_bar(kHalf, 120, false), "measuring ops  [##########..........]   50 %  5/10  0:07 left  conv1");
  ProgressState over = kHalf;
  over.done = 12;  // an estimate of the whole was too low
  EXPECT_THAT(progress_bar(over, 120, false), ::testing::HasSubstr("[####################]  100 %  12/10"));
}

TEST(Progress, OnlyALocaleThatHasThemGetsOtherSigns) {
  const auto plain = [](const std::string& text) {
    return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 128; });
  };
  EXPECT_TRUE(plain(progress_bar(kHalf, 120, false)));
  EXPECT_THAT(progress_bar(kHalf, 120, true), ::testing::HasSubstr("\u2588\u2591"));
}

TEST(Progress, ALineNeverFillsTheTerminal) {
  for (std::size_t columns = 2; columns < 90; ++columns) {
    EXPECT_LT(progress_bar(kHalf, columns, false).size(), columns) << columns;
  }
  EXPECT_EQ(progress_bar(kHalf, 65, false), "measuring ops  [##########..........]   50 %  5/10  0:07 left  c")
      << "what is going on now is worth least";
  EXPECT_EQ(progress_bar(kHalf, 50, false), "measuring ops   50 %  5/10  0:07 left  conv1");
}

}  // namespace
}  // namespace sluice
