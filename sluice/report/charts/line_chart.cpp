#include "sluice/report/charts/line_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sluice/base/check.hpp"

namespace sluice {
namespace {

constexpr double kColumnWidth = 480, kSmallPlotHeight = 210;
constexpr double kNoteHeight = 15, kTitleHeight = 12, kRowGap = 84;

void draw_series(ChartDrawing& drawing, const LineSeries& series, double width) {
  const std::size_t colour = series.colour % kChartColours;
  const auto x_of = [&](const LinePoint& point) { return drawing.frame().left + point.x * width; };
  const auto y_of = [&](const LinePoint& point) { return drawing.y_of(std::max(0.0, point.y)); };
  std::string points;
  for (const LinePoint& point : series.points) points += fmt::format("{:.1f},{:.1f} ", x_of(point), y_of(point));
  if (series.points.size() > 1) drawing.path(points.substr(0, points.size() - 1), colour, series.style);
  for (const LinePoint& point : series.points) {
    drawing.dot(x_of(point), y_of(point), colour, series.style, point.tooltip);
    if (point.ringed) drawing.ring(x_of(point), y_of(point), colour);
  }
}

// The largest value of a panel's points, or what its axis has to reach beside them.
double largest_of(const LinePanel& panel) {
  double largest = std::max(panel.reaches, panel.level ? panel.level->value : 0);
  std::size_t points = 0;
  for (const LineSeries& series : panel.series) {
    points += series.points.size();
    for (const LinePoint& point : series.points) largest = std::max(largest, point.y);
  }
  SLUICE_CHECK(points > 0, "a panel needs a point");
  return largest;
}

double last_x_of(const LineChart& chart) {
  double last = 0;
  for (const LinePanel& panel : chart.panels) {
    for (const LineSeries& series : panel.series) {
      for (const LinePoint& point : series.points) {
        SLUICE_CHECK(point.x >= 0, "a chart begins at 0");
        last = std::max(last, point.x);
      }
    }
  }
  return last;
}

void draw_legend(ChartDrawing& drawing, const LineChart& chart) {
  std::set<std::string> drawn{""};
  for (const LinePanel& panel : chart.panels) {
    for (const LineSeries& series : panel.series) {
      const auto colour = static_cast<int>(series.colour % kChartColours);
      if (drawn.insert(series.name).second) drawing.legend(series.name, colour);
    }
  }
  for (const LinePanel& panel : chart.panels) {
    if (panel.level) drawing.legend(panel.level->name, -1);
  }
}

// Of panel `i`, whose axis title is on line `title_y`. One alone has the page to itself.
ChartFrame frame_of(const LineChart& chart, std::size_t i, double title_y) {
  const double top = title_y + kTitleHeight + (chart.panels[i].note.empty() ? 0 : kNoteHeight);
  if (chart.panels.size() == 1) return {.top = top};
  const double column = kColumnWidth * static_cast<double>(i % 2);
  return {.left = column + kChartLeft,
          .right = column + kColumnWidth - (kChartWidth - kChartRight),
          .top = top,
          .bottom = title_y + kTitleHeight + kNoteHeight + kSmallPlotHeight};
}

void draw_panel(ChartDrawing& drawing, const LineChart& chart, std::size_t i, double title_y) {
  const LinePanel& panel = chart.panels[i];
  const ChartFrame frame = frame_of(chart, i, title_y);
  drawing.begin_plot(frame, round_axis(largest_of(panel), panel.quantity), {"", "", chart.x_label, panel.y_label},
                     title_y);
  drawing.label(frame.left - kChartLeft + 8, title_y + kNoteHeight, "start", panel.note, "quiet");
  if (panel.level) drawing.level(panel.level->value);
  const double last_x = last_x_of(chart);
  const double width = (frame.right - frame.left - 12) / std::max(1.0, last_x);
  for (const LineSeries& series : panel.series) draw_series(drawing, series, width);
  drawing.x_ticks(last_x, width);
}

}  // namespace

std::string draw_lines(const LineChart& chart) {
  SLUICE_CHECK(!chart.panels.empty(), "a chart needs a panel");
  ChartDrawing drawing(chart.title, chart.subtitle, chart.panels.size() == 1 ? kChartWidth : 2 * kColumnWidth);
  draw_legend(drawing, chart);
  constexpr double kRowHeight = kTitleHeight + kNoteHeight + kSmallPlotHeight + kRowGap;
  for (std::size_t i = 0; i < chart.panels.size(); ++i) {
    draw_panel(drawing, chart, i, drawing.below_legend() + kRowHeight * static_cast<double>(i / 2));
  }
  return drawing.finish();
}

}  // namespace sluice
