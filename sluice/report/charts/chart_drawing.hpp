// The canvas that all charts share: page, title, legend, axes and primitive shapes as SVG text. svg_chart.hpp and
// line_chart.hpp draw on it.
//
// 760 x 400 user units. Colours come by number and follow the viewer's preference for light or dark pages. All text is
// escaped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sluice/report/charts/chart_axis.hpp"

namespace sluice {

inline constexpr double kChartWidth = 760, kChartHeight = 400;
inline constexpr double kChartLeft = 72, kChartRight = kChartWidth - 20, kChartBottom = kChartHeight - 56;
inline constexpr std::size_t kChartColours = 8;

enum class LineStyle : std::uint8_t { kSolid, kDashed, kDotted };  // with full, hollow and small dots

struct ChartText {
  std::string title;
  std::string subtitle;  // what it is of: model, batch
  std::string x_label;
  std::string y_label;  // the unit is added
};

class ChartDrawing {
 public:
  explicit ChartDrawing(const ChartText& text);

  void label(double x, double y, std::string_view anchor, std::string_view text, std::string_view style = "plain");
  void line(double x1, double y1, double x2, double y2, std::string_view style);
  void bar(double x, double y, double width, double height, std::size_t colour, std::string_view tooltip);
  void area(const std::string& points, std::size_t colour, std::string_view tooltip);
  void path(const std::string& points, std::size_t colour, LineStyle style);
  void dot(double x, double y, std::size_t colour, LineStyle style, std::string_view tooltip);
  void ring(double x, double y, std::size_t colour);  // around a dot

  // The next entry of the legend, in a new row where this one is full. Colour below 0: a level's line.
  void legend(std::string_view name, int colour);

  // Draws the vertical axis and its grid. The plot begins below the legend and the axis title, with `above` units left
  // free.
  void begin_plot(const ChartAxis& axis, const std::string& y_label, double above);

  // Ticks of a horizontal axis from 0 to `values`, a value `width` units wide.
  void x_ticks(double values, double width);

  double y_of(double value) const { return kChartBottom - (kChartBottom - top_) * value / axis_.end; }
  double top() const { return top_; }
  std::string finish() { return std::move(svg_) + "</svg>\n"; }

 private:
  std::string svg_;
  ChartAxis axis_;
  double top_ = 0;
  double legend_x_ = kChartLeft, legend_y_;
};

double width_of_label(std::string_view text);  // as labels are laid out: the usual width of its characters

// For XML text and attributes: & < > " ' become entities, control characters that XML forbids become spaces.
std::string escape_xml(std::string_view text);

}  // namespace sluice
