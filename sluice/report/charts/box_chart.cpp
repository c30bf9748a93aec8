#include "sluice/report/charts/box_chart.hpp"

#include <algorithm>

namespace sluice {

std::string draw_boxes(const BoxChart& chart) {
  double last = 1, largest = chart.level.value;
  for (const ChartBox& box : chart.boxes) {
    last = std::max(last, box.time.end);
    largest = std::max(largest, box.bytes.end);
  }
  ChartDrawing drawing(chart.text.title, chart.text.subtitle);
  drawing.legend(chart.level.name, -1);
  drawing.begin_plot(round_axis(largest, Quantity::kBytes), chart.text, 0);
  const double width = (kChartRight - kChartLeft) / last;
  for (std::size_t i = 0; i < chart.boxes.size(); ++i) {
    const ChartBox& box = chart.boxes[i];
    const double top = drawing.y_of(box.bytes.end);
    drawing.bar(kChartLeft + box.time.begin * width, top, box.time.length() * width,
                drawing.y_of(box.bytes.begin) - top, i % kChartColours, box.tooltip);
  }
  drawing.level(chart.level.value);
  drawing.x_ticks(last, width);
  return drawing.finish();
}

}  // namespace sluice
