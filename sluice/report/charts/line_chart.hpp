// Curves over a number, such as a budget in per cent: one line per series with its points marked, each with its exact
// values as a tooltip. Several series may share a colour and differ in style. Pure functions.
#pragma once

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
  std::string name;        // in the legend; empty: not there
  std::size_t colour = 0;  // taken modulo kChartColours
  LineStyle style = LineStyle::kSolid;
  std::vector<LinePoint> points;  // joined in this order
};

struct LineChart {
  ChartText text;
  Quantity quantity = Quantity::kCount;  // of y
  std::vector<LineSeries> series;        // with at least one point in all
};

std::string draw_lines(const LineChart& chart);

}  // namespace sluice
