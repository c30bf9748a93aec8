#include "sluice/report/charts/line_chart.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "sluice/base/units.hpp"
#include "sluice/report/charts/svg_for_tests.hpp"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using testing::label_problem;
using ::testing::Not;
using testing::xml_problem;

LineChart three_lines() {
  return {"Loss",
          "a < b",
          "budget, %",
          {{.y_label = "loss, %",
            .series = {{"predicted", 1, LineStyle::kSolid, {{0, 0, "first"}, {50, 10, "second & last", true}}},
                       {"", 9, LineStyle::kDashed, {{50, -3, "measured"}}},
                       {"", 2, LineStyle::kDotted, {{0, 5, "bound"}, {50, 5, "bound"}}}}}}};
}

// Below the three lines, a ratio to 1 whose curve ends sooner, and bytes that lack a curve's second point.
LineChart three_panels() {
  LineChart chart = three_lines();
  chart.panels.push_back({.y_label = "ratio",
                          .note = "ring: the best",
                          .quantity = Quantity::kRatio,
                          .level = ChartLevel{1, "even"},
                          .series = {{"predicted", 1, LineStyle::kSolid, {{0, 0.3, "low"}, {25, 0.7, "high", true}}}}});
  chart.panels.push_back({.y_label = "moved",
                          .quantity = Quantity::kBytes,
                          .reaches = 4.0 * kMiB,
                          .series = {{"other", 3, LineStyle::kSolid, {{50, 1.0 * kMiB, "one"}}}}});
  return chart;
}

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(LineChartTest, JoinsPointsAndNamesTheirValues) {
  const std::string svg = draw_lines(three_lines());
  EXPECT_EQ(label_problem(svg), "");
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

TEST(LineChartTest, PanelsShareTheirLegendAndExtent) {
  const std::string svg = draw_lines(three_panels());
  EXPECT_EQ(xml_problem(svg), "");
  EXPECT_EQ(label_problem(svg), "");
  EXPECT_EQ(count_of(svg, ">predicted</text>"), 1);
  EXPECT_EQ(count_of(svg, ">budget, %</text>"), 3);
  EXPECT_THAT(svg, HasSubstr(R"(viewBox="0 0 960 )"));
  // 0 to 50 over 376 units from 72, in the second column from 552: the ratio's curve ends in the middle.
  EXPECT_THAT(svg, HasSubstr(R"(<circle class="path c1" cx="448.0")"));
  EXPECT_THAT(svg, HasSubstr(R"(<circle class="path c1" cx="740.0")"));
}

TEST(LineChartTest, AxesReachTheLevelAndAsFarAsTheyAreTold) {
  const std::string svg = draw_lines(three_panels());
  EXPECT_EQ(count_of(svg, R"(<line class="line" x1="552.0")"), 1);
  EXPECT_THAT(svg, HasSubstr(">even</text>"));
  EXPECT_THAT(svg, HasSubstr(">1.0</text>")) << "the level is 1, the largest ratio 0.7";
  EXPECT_THAT(svg, HasSubstr(">moved (MiB)</text>"));
  EXPECT_THAT(svg, HasSubstr(">4</text>")) << "the largest is 1 MiB";
}

TEST(LineChartTest, NeedsAPoint) {
  LineChart chart = three_lines();
  for (LineSeries& series : chart.panels[0].series) series.points.clear();
  EXPECT_THROW(draw_lines(chart), std::logic_error);
  EXPECT_THROW(draw_lines({}), std::logic_error);
}

}  // namespace
}  // namespace sluice
