#include "sluice/report/charts/line_chart.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/check.hpp"

namespace sluice {
namespace {

void draw_series(ChartDrawing& drawing, const LineSeries& series, double width) {
  const std::size_t colour = series.colour % kChartColours;
  const auto x_of = [&](const LinePoint& point) { return kChartLeft + point.x * width; };
  const auto y_of = [&](const LinePoint& point) { return drawing.y_of(std::max(0.0, point.y)); };
  std::string points;
  for (const LinePoint& point : series.points) points += fmt::format("{:.1f},{:.1f} ", x_of(point), y_of(point));
  if (series.points.size() > 1) drawing.path(points.substr(0, points.size() - 1), colour, series.style);
  for (const LinePoint& point : series.points) {
    drawing.dot(x_of(point), y_of(point), colour, series.style, point.tooltip);
    if (point.ringed) drawing.ring(x_of(point), y_of(point), colour);
  }
}

}  // namespace

std::string draw_lines(const LineChart& chart) {
  double last_x = 0, largest = 0;
  std::size_t points = 0;
  for (const LineSeries& series : chart.series) {
    points += series.points.size();
    for (const LinePoint& point : series.points) {
      SLUICE_CHECK(point.x >= 0, "a chart begins at 0");
      last_x = std::max(last_x, point.x);
      largest = std::max(largest, point.y);
    }
  }
  SLUICE_CHECK(points > 0, "a chart needs a point");
  ChartDrawing drawing(chart.text);
  for (const LineSeries& series : chart.series) {
    if (!series.name.empty()) drawing.legend(series.name, static_cast<int>(series.colour % kChartColours));
  }
  drawing.begin_plot(round_axis(largest, chart.quantity), chart.text.y_label, 0);
  const double width = (kChartRight - kChartLeft - 12) / std::max(1.0, last_x);
  for (const LineSeries& series : chart.series) draw_series(drawing, series, width);
  drawing.x_ticks(last_x, width);
  return drawing.finish();
}

}  // namespace sluice
