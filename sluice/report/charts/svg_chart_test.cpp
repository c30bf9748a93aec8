#include "sluice/report/charts/svg_chart.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <stdexcept>

#include "sluice/base/units.hpp"
#include "sluice/report/charts/svg_for_tests.hpp"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using testing::label_problem;
using ::testing::Not;
using testing::xml_problem;

BarChart bars() {
  return {.text = {"Tensors & lifetimes", "model <\"x\">", "layers", "tensors"},
          .categories = {"1", "2-8", ">64"},
          .series = {{"small", {900, 20, 0}}, {"large", {100, 30, 7}}}};
}

StepCurve curve() {
  return {.text = {"Live bytes", "of 'x'", "ops", "live bytes"},
          .series = {{"persistent", std::vector<double>(40, 3e9)}, {"others", std::vector<double>(40, 1e9)}},
          .marks = {{20, "backward begins"}, {21, "peak 3.73 GiB: conv2d"}},
          .levels = {{1e9, "bound"}}};
}

TEST(SvgChartTest, IsWellFormedXml) {
  EXPECT_EQ(xml_problem("<a>b</c>\n"), "closes c");
  EXPECT_EQ(xml_problem("<a>b & c</a>\n"), "text b & c");
  EXPECT_EQ(xml_problem("<a>b</a>\n"), "");
  EXPECT_EQ(xml_problem(draw_bars(bars())), "");
  EXPECT_EQ(xml_problem(draw_curve(curve())), "");
}

TEST(SvgChartTest, EscapesText) {
  const std::string svg = draw_bars(bars());
  EXPECT_THAT(svg, HasSubstr("Tensors &amp; lifetimes"));
  EXPECT_THAT(svg, HasSubstr(">&gt;64<"));
}

TEST(SvgChartTest, LabelsDoNotOverlap) {
  EXPECT_EQ(label_problem(draw_bars(bars())), "");
  EXPECT_EQ(label_problem(draw_curve(curve())), "");
  BarChart grouped = bars();
  grouped.stacked = false;
  grouped.quantity = Quantity::kBytes;
  grouped.series = {{"of tensors", {1.5e9, 3e8, 4e6}}, {"of pages", {7e8, 1.2e9, 5e6}}};
  EXPECT_EQ(label_problem(draw_bars(grouped)), "");
}

TEST(SvgChartTest, LongLegendsWrap) {
  BarChart chart = bars();
  for (ChartSeries& series : chart.series) series.name = std::string(70, 'n');
  EXPECT_EQ(label_problem(draw_bars(chart)), "");
}

TEST(SvgChartTest, AMarkAtTheRightEdgeHasItsNameOnTheLeft) {
  StepCurve chart = curve();
  chart.marks = {{39, "the end of a long story"}};
  EXPECT_EQ(label_problem(draw_curve(chart)), "");
}

TEST(SvgChartTest, StacksBarsAndTellsTheirValues) {
  const std::string svg = draw_bars(bars());
  EXPECT_THAT(svg, HasSubstr("<title>1, small: 900</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>2-8, large: 30</title>"));
  EXPECT_THAT(svg, Not(HasSubstr("<title>&gt;64, small")));  // no bar for nothing
  EXPECT_THAT(svg, HasSubstr(">1000</text>"));               // the sum above the bar
}

TEST(SvgChartTest, HeightsAreInProportion) {
  const std::string svg = draw_bars(bars());
  const auto height = [&](const std::string& title) {
    std::smatch found;
    const std::regex rect(R"re(height="([\d.]+)"><title>)re" + title);
    EXPECT_TRUE(std::regex_search(svg, found, rect)) << title;
    return std::stod(found[1]);
  };
  EXPECT_NEAR(height("1, small: 900") / height("1, large: 100"), 9, 0.1);
}

TEST(SvgChartTest, FollowsTheViewersPreference) {
  EXPECT_THAT(draw_curve(curve()), HasSubstr("@media (prefers-color-scheme:dark)"));
}

TEST(SvgChartTest, NothingToCountIsStillAChart) {
  BarChart chart = bars();
  for (ChartSeries& series : chart.series) std::ranges::fill(series.values, 0);
  EXPECT_EQ(xml_problem(draw_bars(chart)), "");
  EXPECT_EQ(label_problem(draw_bars(chart)), "");
}

TEST(SvgChartTest, RefusesSeriesThatDoNotFit) {
  BarChart chart = bars();
  chart.series[1].values.pop_back();
  EXPECT_THROW(draw_bars(chart), std::logic_error);
  EXPECT_THROW(draw_curve({}), std::logic_error);
}

TEST(ChartAxisTest, TicksAreRound) {
  const ChartAxis counts = round_axis(1234, Quantity::kCount);
  EXPECT_EQ(counts.step, 250);
  EXPECT_EQ(counts.end, 1250);
  EXPECT_EQ(counts.tick(250), "250");
  const ChartAxis bytes = round_axis(3.2 * static_cast<double>(kGiB), Quantity::kBytes);
  EXPECT_EQ(bytes.unit, "GiB");
  EXPECT_EQ(bytes.tick(bytes.step), "1");
  EXPECT_EQ(bytes.tick(bytes.end), "4");
  EXPECT_EQ(round_axis(3, Quantity::kCount).step, 1);
  EXPECT_EQ(round_axis(0, Quantity::kCount).end, 1);
  const ChartAxis fractions = round_axis(1.3 * static_cast<double>(kMiB), Quantity::kBytes);
  EXPECT_EQ(fractions.tick(fractions.step), "0.25");
}

TEST(ChartAxisTest, EndsJustAboveTheLargestValue) {
  for (double largest = 1; largest < 1e12; largest *= 1.37) {
    for (const Quantity quantity : {Quantity::kCount, Quantity::kBytes}) {
      const ChartAxis axis = round_axis(largest, quantity);
      EXPECT_GE(axis.end, largest * (1 - 1e-6));
      EXPECT_LT(axis.end - axis.step, largest);
      EXPECT_LE(axis.end / axis.step, 6.5);
    }
  }
}

}  // namespace
}  // namespace sluice
