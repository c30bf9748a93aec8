// Rectangles over time and bytes: where the items of an allocation lie, and when.
#pragma once

#include <string>
#include <vector>

#include "sluice/base/interval.hpp"
#include "sluice/report/charts/chart_drawing.hpp"

namespace sluice {

struct ChartBox {
  Interval<double> time;  // from 0
  Interval<double> bytes;
  std::string tooltip;
};

struct BoxChart {
  ChartText text;
  std::vector<ChartBox> boxes;  // neighbours in the list get different colours
  ChartLevel level;
};

// An SVG document.
std::string draw_boxes(const BoxChart& chart);

}  // namespace sluice
