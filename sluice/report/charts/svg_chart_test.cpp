#include "sluice/report/charts/svg_chart.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <stdexcept>

#include "sluice/base/units.hpp"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// What is wrong with the text as XML: tags that do not close in order, or a bare sign; "" when nothing is.
std::string xml_problem(const std::string& xml) {
  static const std::regex tag(
      R"(<(/?)([A-Za-z]+)((?:\s[\w:-]+="[^"<&]*(?:&(?:amp|lt|gt|quot|apos);[^"<&]*)*")*)\s*(/?)>)");
  static const std::regex content(R"((?:[^<>&]|&(?:amp|lt|gt|quot|apos);)*)");
  std::vector<std::string> open;
  auto at = xml.begin();
  for (std::smatch found; std::regex_search(at, xml.end(), found, tag); at = found.suffix().first) {
    if (!std::regex_match(at, found[0].first, content)) return "text " + std::string(at, found[0].first);
    if (found[4].length() > 0) continue;
    if (found[1].length() == 0) {
      open.push_back(found[2]);
    } else if (open.empty() || open.back() != found[2]) {
      return "closes " + found[2].str();
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? (std::string(at, xml.end()) == "\n" ? "" : "text behind the end")
                      : "never closes " + open.back();
}

struct Label {
  double x = 0, y = 0, width = 0;
  std::string text;
};

// Texts with the room they take, by the same usual width of a character as a reader's font has.
std::vector<Label> labels_of(const std::string& svg) {
  static const std::regex text(
      R"re(<text class="(\w+)" x="([-\d.]+)" y="([-\d.]+)" text-anchor="(\w+)">([^<]*)</text>)re");
  std::vector<Label> labels;
  for (std::sregex_iterator found(svg.begin(), svg.end(), text), end; found != end; ++found) {
    const std::smatch& match = *found;
    const double width = static_cast<double>(match[5].length()) * (match[1] == "title" ? 9 : 6.5);
    const double shift = match[4] == "end" ? width : match[4] == "middle" ? width / 2 : 0;
    labels.push_back({std::stod(match[2]) - shift, std::stod(match[3]), width, match[5]});
  }
  return labels;
}

void expect_labels_apart(const std::string& svg) {
  const std::vector<Label> labels = labels_of(svg);
  EXPECT_GT(labels.size(), 5U);
  for (const Label& label : labels) {
    EXPECT_GE(label.x, 0) << label.text;
    EXPECT_LE(label.x + label.width, 760) << label.text;
  }
  for (std::size_t i = 0; i < labels.size(); ++i) {
    for (std::size_t j = i + 1; j < labels.size(); ++j) {
      const Label& a = labels[i];
      const Label& b = labels[j];
      const bool apart = a.x + a.width <= b.x || b.x + b.width <= a.x || std::abs(a.y - b.y) >= 11;
      EXPECT_TRUE(apart) << a.text << " and " << b.text;
    }
  }
}

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
  EXPECT_EQ(escape_xml("a<b>&\"c'\x01"), "a&lt;b&gt;&amp;&quot;c&apos; ");
  EXPECT_EQ(escape_xml("µ ≤"), "µ ≤");
  const std::string svg = draw_bars(bars());
  EXPECT_THAT(svg, HasSubstr("Tensors &amp; lifetimes"));
  EXPECT_THAT(svg, HasSubstr(">&gt;64<"));
}

TEST(SvgChartTest, LabelsDoNotOverlap) {
  expect_labels_apart(draw_bars(bars()));
  expect_labels_apart(draw_curve(curve()));
  BarChart grouped = bars();
  grouped.stacked = false;
  grouped.quantity = Quantity::kBytes;
  grouped.series = {{"of tensors", {1.5e9, 3e8, 4e6}}, {"of pages", {7e8, 1.2e9, 5e6}}};
  expect_labels_apart(draw_bars(grouped));
}

TEST(SvgChartTest, LongLegendsWrap) {
  BarChart chart = bars();
  for (ChartSeries& series : chart.series) series.name = std::string(70, 'n');
  expect_labels_apart(draw_bars(chart));
}

TEST(SvgChartTest, AMarkAtTheRightEdgeHasItsNameOnTheLeft) {
  StepCurve chart = curve();
  chart.marks = {{39, "the end of a long story"}};
  expect_labels_apart(draw_curve(chart));
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
  expect_labels_apart(draw_bars(chart));
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
