#include "sluice/report/charts/line_chart.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

LineChart two_lines() {
  return {.text = {"Loss", "a < b", "budget, %", "loss, %"},
          .series = {{"predicted", 1, false, {{0, 0, "first"}, {50, 10, "second & last"}}},
                     {"", 9, true, {{50, -3, "measured"}}}}};
}

TEST(LineChartTest, JoinsPointsAndNamesTheirValues) {
  const std::string svg = draw_lines(two_lines());
  // 0 to 50 over 656 units from 72; 0 to 10 from 344 up to where the plot begins.
  EXPECT_THAT(svg, HasSubstr(R"(<polyline class="path c1" points="72.0,344.0 728.0,)"));
  EXPECT_THAT(svg, HasSubstr("<title>second &amp; last</title>"));
  EXPECT_THAT(svg, HasSubstr(">predicted</text>"));
  EXPECT_THAT(svg, HasSubstr(">a &lt; b</text>"));
}

TEST(LineChartTest, MeasuredPointsAreHollowAndNothingIsDrawnBelowZero) {
  const std::string svg = draw_lines(two_lines());
  EXPECT_THAT(svg, HasSubstr(R"(<circle class="hollow c1" cx="728.0" cy="344.0")")) << "colour 9 of 8";
  EXPECT_THAT(svg, Not(HasSubstr("dashed c1"))) << "one point is no line";
}

TEST(LineChartTest, NeedsAPoint) {
  LineChart chart = two_lines();
  for (LineSeries& series : chart.series) series.points.clear();
  EXPECT_THROW(draw_lines(chart), std::logic_error);
}

}  // namespace
}  // namespace sluice
