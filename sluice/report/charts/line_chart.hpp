// Curves over a number, such as a budget in per cent: one line per series with its points marked, each with its exact
// values as a tooltip. Several series may share a colour and differ in style. A chart is one plot, or several small ones,
// two in a row, that share their title, their legend and the extent of their horizontal axes. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sluice/report/charts/chart_drawing.hpp"

namespace sluice {

struct LinePoint {
  double x = 0;  // not below 0
  double y = 0;  // below 0: drawn at 0
  std::string tooltip;
  bool ringed = false;
};

struct LineSeries {
  std::string name;        // in the legend, once however many series have it; empty: not there
  std::size_t colour = 0;  // taken modulo kChartColours
  LineStyle style = LineStyle::kSolid;
  std::vector<LinePoint> points;  // joined in this order
};

struct LinePanel {
  std::string y_label;
  std::string note;                      // a line below that: what rings and styles mean here
  Quantity quantity = Quantity::kCount;  // of y
  double reaches = 0;                    // the vertical axis goes at least this far: panels to be compared agree on it
  std::optional<ChartLevel> level = {};
  std::vector<LineSeries> series = {};  // with at least one point in all
};

struct LineChart {
  std::string title;
  std::string subtitle;
  std::string x_label;
  std::vector<LinePanel> panels;  // at least one
};

std::string draw_lines(const LineChart& chart);

}  // namespace sluice
