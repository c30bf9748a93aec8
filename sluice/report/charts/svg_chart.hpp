// Small charts as SVG text: stacked or grouped bars, and a stacked step curve. They have axes, units, a legend, and the
// exact value of every bar as its tooltip. They are readable on light and dark pages (the viewer's preference decides).
// No library in Debian draws charts from C++, and five kinds of element are enough for these.
//
// No two labels overlap as long as names are of usual length (categories up to about a dozen, legend entries up to one
// line). Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sluice/report/charts/chart_drawing.hpp"

namespace sluice {

struct ChartSeries {
  std::string name;
  std::vector<double> values;
};

struct BarChart {
  ChartText text;
  Quantity quantity = Quantity::kCount;
  std::vector<std::string> categories;
  std::vector<ChartSeries> series;  // one value per category; up to four
  bool stacked = true;              // else side by side
};

struct StepCurve {
  ChartText text;
  Quantity quantity = Quantity::kBytes;
  std::vector<ChartSeries> series;  // one value per step, stacked from the first up; up to four
  struct Mark {
    double x = 0;      // a vertical line at the beginning of this step
    std::string name;  // above the plot
  };
  std::vector<Mark> marks;
  std::vector<ChartLevel> levels;
};

std::string draw_bars(const BarChart& chart);
std::string draw_curve(const StepCurve& chart);

}  // namespace sluice
