#include "sluice/report/charts/chart_drawing.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/markup.hpp"

namespace sluice {
namespace {

constexpr double kLegendTop = 62, kFont = 12;
constexpr double kMargin = kChartWidth - kChartRight, kBelowPlot = kChartHeight - kChartBottom;
constexpr double kCharacter = 0.58 * kFont;  // usual width of one; labels are laid out by it

// Colours by the viewer's preference; those without one get the light page. s: filled, c: a stroke, h: a hollow dot.
constexpr std::string_view kStyle =
    "<style>"
    "text{font-family:system-ui,'DejaVu Sans',sans-serif;font-size:12px;fill:#24292f}"
    ".title{font-size:16px;font-weight:bold}.quiet{fill:#57606a}"
    ".page,.hollow{fill:#ffffff}.grid{stroke:#d8dee4;stroke-width:1}.axis{stroke:#57606a;stroke-width:1}"
    ".line{stroke:#24292f;stroke-width:1.5;stroke-dasharray:5 4}"
    ".value{paint-order:stroke;stroke:#ffffff;stroke-width:3px}"
    ".path{fill:none;stroke-width:2}.dashed{stroke-dasharray:6 4}.dotted{stroke-width:1;stroke-dasharray:1 3}.hollow{stroke-width:1.5}"
    ".s0{fill:#3b73af}.s1{fill:#e58a2d}.s2{fill:#5aa05a}.s3{fill:#a46aa5}"
    ".s4{fill:#c0504d}.s5{fill:#7f6a4f}.s6{fill:#2f9ea0}.s7{fill:#8a8f98}"
    ".c0{stroke:#3b73af}.c1{stroke:#e58a2d}.c2{stroke:#5aa05a}.c3{stroke:#a46aa5}"
    ".c4{stroke:#c0504d}.c5{stroke:#7f6a4f}.c6{stroke:#2f9ea0}.c7{stroke:#8a8f98}"
    "@media (prefers-color-scheme:dark){text{fill:#e6edf3}.quiet{fill:#9198a1}.page,.hollow{fill:#0d1117}"
    ".value{stroke:#0d1117}.grid{stroke:#30363d}.axis{stroke:#9198a1}.line{stroke:#e6edf3}"
    ".s0{fill:#6ea6de}.s1{fill:#f0a55a}.s2{fill:#84c884}.s3{fill:#c995ca}"
    ".s4{fill:#e07f7c}.s5{fill:#b39c7d}.s6{fill:#63c7c9}.s7{fill:#b6bbc4}"
    ".c0{stroke:#6ea6de}.c1{stroke:#f0a55a}.c2{stroke:#84c884}.c3{stroke:#c995ca}"
    ".c4{stroke:#e07f7c}.c5{stroke:#b39c7d}.c6{stroke:#63c7c9}.c7{stroke:#b6bbc4}}"
    "</style>";

}  // namespace

double width_of_label(std::string_view text) { return static_cast<double>(text.size()) * kCharacter; }

ChartDrawing::ChartDrawing(std::string_view title, std::string_view subtitle, double width)
    : width_(width), legend_y_(kLegendTop + 4) {
  label(kChartLeft, 24, "start", title, "title");
  label(kChartLeft, 43, "start", subtitle, "quiet");
}

std::string ChartDrawing::finish() const {
  return fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}">{2}
<rect class="page" width="{0}" height="{1}"/>
{3}</svg>
)",
                     width_, height_, kStyle, svg_);
}

void ChartDrawing::label(double x, double y, std::string_view anchor, std::string_view text, std::string_view style) {
  svg_ += fmt::format(R"(<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)"
                      "\n",
                      style, x, y, anchor, escape_markup(text));
}

void ChartDrawing::line(double x1, double y1, double x2, double y2, std::string_view style) {
  svg_ += fmt::format(R"(<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>)"
                      "\n",
                      style, x1, y1, x2, y2);
}

void ChartDrawing::bar(double x, double y, double width, double height, std::size_t colour, std::string_view tooltip) {
  svg_ +=
      fmt::format(R"(<rect class="s{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"><title>{}</title></rect>)"
                  "\n",
                  colour, x, y, width, height, escape_markup(tooltip));
}

void ChartDrawing::area(const std::string& points, std::size_t colour, std::string_view tooltip) {
  svg_ += fmt::format(R"(<polygon class="s{}" points="{}"><title>{}</title></polygon>)"
                      "\n",
                      colour, points, escape_markup(tooltip));
}

void ChartDrawing::path(const std::string& points, std::size_t colour, LineStyle style) {
  constexpr std::string_view kClasses[] = {"", "dashed ", "dotted "};
  svg_ += fmt::format(R"(<polyline class="path {}c{}" points="{}"/>)"
                      "\n",
                      kClasses[static_cast<std::size_t>(style)], colour, points);
}

void ChartDrawing::dot(double x, double y, std::size_t colour, LineStyle style, std::string_view tooltip) {
  svg_ += fmt::format(R"(<circle class="{}{}" cx="{:.1f}" cy="{:.1f}" r="{}"><title>{}</title></circle>)"
                      "\n",
                      style == LineStyle::kDashed ? "hollow c" : "s", colour, x, y,
                      style == LineStyle::kDotted ? 2 : 3.5, escape_markup(tooltip));
}

void ChartDrawing::ring(double x, double y, std::size_t colour) {
  svg_ += fmt::format(R"(<circle class="path c{}" cx="{:.1f}" cy="{:.1f}" r="8"/>)"
                      "\n",
                      colour, x, y);
}

void ChartDrawing::legend(std::string_view name, int colour) {
  constexpr double kSwatch = 12, kGap = 18;
  const double width = kSwatch + 6 + width_of_label(name);
  if (legend_x_ > kChartLeft && legend_x_ + width > width_ - kMargin) {
    legend_x_ = kChartLeft;
    legend_y_ += kFont + 6;
  }
  if (colour >= 0) {
    bar(legend_x_, legend_y_ - 10, kSwatch, kSwatch, static_cast<std::size_t>(colour), name);
  } else {
    line(legend_x_, legend_y_ - 4, legend_x_ + kSwatch + 2, legend_y_ - 4, "line");
  }
  label(legend_x_ + kSwatch + 6, legend_y_, "start", name);
  legend_x_ += width + kGap;
}

double ChartDrawing::below_legend() const { return legend_x_ > kChartLeft ? legend_y_ + 22 : legend_y_; }

void ChartDrawing::begin_plot(const ChartAxis& axis, const ChartText& text, double above) {
  begin_plot({.top = below_legend() + 12 + above}, axis, text, below_legend());
}

void ChartDrawing::begin_plot(const ChartFrame& frame, const ChartAxis& axis, const ChartText& text, double title_y) {
  axis_ = axis;
  frame_ = frame;
  height_ = std::max(height_, frame.bottom + kBelowPlot);
  const std::string title = axis.unit.empty() ? text.y_label : fmt::format("{} ({})", text.y_label, axis.unit);
  label(frame.left - kChartLeft + 8, title_y, "start", title, "quiet");
  label((frame.left + frame.right) / 2, frame.bottom + kBelowPlot - 12, "middle", text.x_label, "quiet");
  const int ticks = static_cast<int>(axis.end / axis.step + 0.5);
  for (int i = 0; i <= ticks; ++i) {
    const double value = i * axis.step;
    line(frame.left, y_of(value), frame.right, y_of(value), i == 0 ? "axis" : "grid");
    label(frame.left - 8, y_of(value) + 4, "end", axis.tick(value), "quiet");
  }
}

void ChartDrawing::x_ticks(double values, double width) {
  const ChartAxis axis = round_axis(values, Quantity::kCount);
  for (double x = 0; x <= values; x += axis.step) {
    const double at = frame_.left + x * width;
    line(at, frame_.bottom, at, frame_.bottom + 4, "axis");
    label(at, frame_.bottom + 18, "middle", axis.tick(x), "quiet");
  }
}

void ChartDrawing::level(double value) { line(frame_.left, y_of(value), frame_.right, y_of(value), "line"); }

}  // namespace sluice
