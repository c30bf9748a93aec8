// The canvas that all charts share: page, title, legend, axes and primitive shapes as SVG text. svg_chart.hpp and
// line_chart.hpp draw on it.
//
// 760 x 400 user units for one plot; a page of several is as wide as its maker says and as high as they need. Colours come by number and follow the viewer's preference for light or dark pages. All text is
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

// Where the axes of a plot stand.
struct ChartFrame {
  double left = kChartLeft, right = kChartRight, top = 0, bottom = kChartBottom;
};

// A dashed line across a plot, named in the legend.
struct ChartLevel {
  double value = 0;
  std::string name;
};

struct ChartText {
  std::string title;
  std::string subtitle;  // what it is of: model, batch
  std::string x_label;
  std::string y_label;  // the unit is added
};

class ChartDrawing {
 public:
  ChartDrawing(std::string_view title, std::string_view subtitle, double width = kChartWidth);

  void label(double x, double y, std::string_view anchor, std::string_view text, std::string_view style = "plain");
  void line(double x1, double y1, double x2, double y2, std::string_view style);
  void bar(double x, double y, double width, double height, std::size_t colour, std::string_view tooltip);
  void area(const std::string& points, std::size_t colour, std::string_view tooltip);
  void path(const std::string& points, std::size_t colour, LineStyle style);
  void dot(double x, double y, std::size_t colour, LineStyle style, std::string_view tooltip);
  void ring(double x, double y, std::size_t colour);  // around a dot

  // The next entry of the legend, in a new row where this one is full. Colour below 0: a level's line.
  void legend(std::string_view name, int colour);

  // Where what stands below the legend has its first line of text; without a legend that is in its place.
  double below_legend() const;

  // Draws the axes' titles, the vertical axis and its grid: the page's only plot, which begins below the legend and the
  // axis title, with `above` units left free.
  void begin_plot(const ChartAxis& axis, const ChartText& text, double above);
  // One of several plots, its vertical axis' title on line `title_y`. What follows is drawn in this one.
  void begin_plot(const ChartFrame& frame, const ChartAxis& axis, const ChartText& text, double title_y);

  // Ticks of a horizontal axis from 0 to `values`, a value `width` units wide.
  void x_ticks(double values, double width);
  void level(double value);  // a dashed line across the plot

  double y_of(double value) const { return frame_.bottom - (frame_.bottom - frame_.top) * value / axis_.end; }
  const ChartFrame& frame() const { return frame_; }
  std::string finish() const;

 private:
  std::string svg_;  // without the page itself, whose height is known last
  double width_, height_ = 0;
  ChartAxis axis_;
  ChartFrame frame_;
  double legend_x_ = kChartLeft, legend_y_;
};

double width_of_label(std::string_view text);  // as labels are laid out: the usual width of its characters

}  // namespace sluice
