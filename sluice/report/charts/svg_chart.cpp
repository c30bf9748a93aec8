#include "sluice/report/charts/svg_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "sluice/base/check.hpp"
#include "sluice/report/charts/chart_drawing.hpp"

namespace sluice {
namespace {

constexpr double kMarkHeight = 15;

void check_series(const std::vector<ChartSeries>& series, std::size_t values) {
  SLUICE_CHECK(!series.empty() && series.size() <= 4, "a chart has one to four series");
  for (const ChartSeries& each : series) SLUICE_CHECK(each.values.size() == values, "one value a category or step");
}

double sum_at(const std::vector<ChartSeries>& series, std::size_t i) {
  return std::accumulate(series.begin(), series.end(), 0.0,
                         [i](double sum, const ChartSeries& each) { return sum + each.values[i]; });
}

double largest_of(const std::vector<ChartSeries>& series, bool stacked) {
  double largest = 0;
  for (std::size_t i = 0; i < series[0].values.size(); ++i) {
    if (stacked) largest = std::max(largest, sum_at(series, i));
    for (const ChartSeries& each : series) largest = std::max(largest, each.values[i]);
  }
  return largest;
}

// All bars of one category, in [left, left + width).
void draw_category(ChartDrawing& drawing, const BarChart& chart, std::size_t category, double left, double width) {
  const double bar_width = chart.stacked ? width : width / static_cast<double>(chart.series.size());
  double below = 0;
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    const ChartSeries& series = chart.series[s];
    const double value = series.values[category];
    const double x = chart.stacked ? left : left + static_cast<double>(s) * bar_width;
    const double top = drawing.y_of(below + value);
    const std::string text = format_quantity(value, chart.quantity);
    const std::string tooltip = fmt::format("{}, {}: {}", chart.categories[category], series.name, text);
    if (value > 0) drawing.bar(x, top, bar_width - 1, drawing.y_of(below) - top, s, tooltip);
    if (!chart.stacked) drawing.label(x + bar_width / 2, top - 5, "middle", text, "value");
    if (chart.stacked) below += value;
  }
  if (!chart.stacked) return;
  drawing.label(left + width / 2, drawing.y_of(below) - 5, "middle", format_quantity(below, chart.quantity), "value");
}

// The upper edge of a series as steps, then the edge below it backwards.
std::string band(const ChartDrawing& drawing, const std::vector<double>& below, const std::vector<double>& above,
                 double step_width) {
  std::string points;
  const auto add = [&](std::size_t step, double value) {
    points += fmt::format("{:.1f},{:.1f} ", kChartLeft + static_cast<double>(step) * step_width, drawing.y_of(value));
  };
  for (std::size_t i = 0; i < above.size(); ++i) {
    add(i, above[i]);
    add(i + 1, above[i]);
  }
  for (std::size_t i = below.size(); i-- > 0;) {
    add(i + 1, below[i]);
    add(i, below[i]);
  }
  points.pop_back();
  return points;
}

void draw_bands(ChartDrawing& drawing, const StepCurve& chart, double step_width) {
  std::vector<double> below(chart.series[0].values.size(), 0);
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    const std::vector<double>& values = chart.series[s].values;
    std::vector<double> above(below);
    for (std::size_t i = 0; i < values.size(); ++i) above[i] += values[i];
    const double peak = *std::ranges::max_element(values);
    drawing.area(band(drawing, below, above, step_width), s,
                 fmt::format("{}: at most {}", chart.series[s].name, format_quantity(peak, chart.quantity)));
    below = std::move(above);
  }
}

// One row of names a mark, so arranged that no line crosses a name: what is named to the left of its line lies highest,
// then from left to right each a row lower.
void draw_marks(ChartDrawing& drawing, const StepCurve& chart, double step_width) {
  const auto x_of = [&](const StepCurve::Mark& mark) { return kChartLeft + mark.x * step_width; };
  const auto leftwards = [&](const StepCurve::Mark& mark) {
    return x_of(mark) + 6 + width_of_label(mark.name) > kChartRight;
  };
  std::vector<StepCurve::Mark> marks = chart.marks;
  std::ranges::stable_sort(marks, {}, [&](const StepCurve::Mark& mark) {
    return std::pair(!leftwards(mark), leftwards(mark) ? -mark.x : mark.x);
  });
  double y = drawing.frame().top - 6 - static_cast<double>(marks.size()) * kMarkHeight;
  for (const StepCurve::Mark& mark : marks) {
    y += kMarkHeight;
    const double x = x_of(mark);
    drawing.line(x, y - 10, x, kChartBottom, "line");
    drawing.label(leftwards(mark) ? x - 5 : x + 5, y, leftwards(mark) ? "end" : "start", mark.name);
  }
}

}  // namespace

std::string draw_bars(const BarChart& chart) {
  check_series(chart.series, chart.categories.size());
  ChartDrawing drawing(chart.text.title, chart.text.subtitle);
  if (chart.series.size() > 1) {
    for (std::size_t s = 0; s < chart.series.size(); ++s) drawing.legend(chart.series[s].name, static_cast<int>(s));
  }
  constexpr double kRoomForValues = 12;
  drawing.begin_plot(round_axis(largest_of(chart.series, chart.stacked), chart.quantity), chart.text, kRoomForValues);
  const double slot =
      (kChartRight - kChartLeft) / static_cast<double>(std::max<std::size_t>(1, chart.categories.size()));
  for (std::size_t i = 0; i < chart.categories.size(); ++i) {
    const double left = kChartLeft + slot * static_cast<double>(i);
    const double width = slot * (chart.stacked ? 0.6 : 0.8);
    draw_category(drawing, chart, i, left + (slot - width) / 2, width);
    drawing.label(left + slot / 2, kChartBottom + 18, "middle", chart.categories[i]);
  }
  return drawing.finish();
}

std::string draw_curve(const StepCurve& chart) {
  SLUICE_CHECK(!chart.series.empty(), "a curve needs a series");
  const std::size_t steps = chart.series[0].values.size();
  check_series(chart.series, steps);
  SLUICE_CHECK(steps > 0, "a curve needs a step");
  ChartDrawing drawing(chart.text.title, chart.text.subtitle);
  for (std::size_t s = 0; s < chart.series.size(); ++s) drawing.legend(chart.series[s].name, static_cast<int>(s));
  for (const ChartLevel& level : chart.levels) drawing.legend(level.name, -1);
  double largest = largest_of(chart.series, true);
  for (const ChartLevel& level : chart.levels) largest = std::max(largest, level.value);
  drawing.begin_plot(round_axis(largest, chart.quantity), chart.text,
                     static_cast<double>(chart.marks.size()) * kMarkHeight);
  const double step_width = (kChartRight - kChartLeft) / static_cast<double>(steps);
  draw_bands(drawing, chart, step_width);
  for (const ChartLevel& level : chart.levels) drawing.level(level.value);
  draw_marks(drawing, chart, step_width);
  drawing.x_ticks(static_cast<double>(steps), step_width);
  return drawing.finish();
}

}  // namespace sluice
