#include "sluice/report/charts/line_chart.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

LineChart three_lines() {
  return {.text = {"Loss", "a < b", "budget, %", "loss, %"},
          .series = {{"predicted", 1, LineStyle::kSolid, {{0, 0, "first"}, {50, 10, "second & last", true}}},
                     {"", 9, LineStyle::kDashed, {{50, -3, "measured"}}},
                     {"", 2, LineStyle::kDotted, {{0, 5, "bound"}, {50, 5, "bound"}}}}};
}

TEST(LineChartTest, JoinsPointsAndNamesTheirValues) {
  const std::string svg = draw_lines(three_lines());
  // 0 to 50 over 656 units from 72; 0 to 10 from 344 up to where the plot begins.
  EXPECT_THAT(svg, HasSubstr(R"(<polyline class="path c1" points="72.0,344.0 728.0,)"));
  EXPECT_THAT(svg, HasSubstr("<title>second &amp; last</title>"));
  EXPECT_THAT(svg, HasSubstr(">predicted</text>"));
  EXPECT_THAT(svg, HasSubstr(">a &lt; b</text>"));
}

TEST(LineChartTest, DottedLinesHaveSmallDotsAndRingsStandAroundDots) {
  const std::string svg = draw_lines(three_lines());
  EXPECT_THAT(svg, HasSubstr(R"(<polyline class="path dotted c2")"));
  EXPECT_THAT(svg, HasSubstr(R"(r="2"><title>bound</title>)"));
  EXPECT_THAT(svg, HasSubstr(R"(<circle class="path c1" cx="728.0")"));
}

TEST(LineChartTest, DashedLinesHaveHollowDotsAndNothingIsDrawnBelowZero) {
  const std::string svg = draw_lines(three_lines());
  EXPECT_THAT(svg, HasSubstr(R"(<circle class="hollow c1" cx="728.0" cy="344.0")")) << "colour 9 of 8";
  EXPECT_THAT(svg, Not(HasSubstr("dashed c1"))) << "one point is no line";
}

TEST(LineChartTest, NeedsAPoint) {
  LineChart chart = three_lines();
  for (LineSeries& series : chart.series) series.points.clear();
  EXPECT_THROW(draw_lines(chart), std::logic_error);
}

}  // namespace
}  // namespace sluice
