#include "sluice/report/svg_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "sluice/base/check.hpp"

namespace sluice {
namespace {

constexpr double kWidth = 760, kHeight = 400;
constexpr double kLeft = 72, kRight = kWidth - 20, kBottom = kHeight - 56;
constexpr double kLegendTop = 62, kMarkHeight = 15, kFont = 12;
constexpr double kCharacter = 0.58 * kFont;  // usual width of one; labels are laid out by it

// Colours by the viewer's preference; those without one get the light page.
constexpr std::string_view kStyle =
    "<style>"
    "text{font-family:system-ui,'DejaVu Sans',sans-serif;font-size:12px;fill:#24292f}"
    ".title{font-size:16px;font-weight:bold}.quiet{fill:#57606a}"
    ".page{fill:#ffffff}.grid{stroke:#d8dee4;stroke-width:1}.axis{stroke:#57606a;stroke-width:1}"
    ".line{stroke:#24292f;stroke-width:1.5;stroke-dasharray:5 4}"
    ".value{paint-order:stroke;stroke:#ffffff;stroke-width:3px}"
    ".s0{fill:#3b73af}.s1{fill:#e58a2d}.s2{fill:#5aa05a}.s3{fill:#a46aa5}"
    "@media (prefers-color-scheme:dark){text{fill:#e6edf3}.quiet{fill:#9198a1}.page{fill:#0d1117}"
    ".value{stroke:#0d1117}.grid{stroke:#30363d}.axis{stroke:#9198a1}.line{stroke:#e6edf3}"
    ".s0{fill:#6ea6de}.s1{fill:#f0a55a}.s2{fill:#84c884}.s3{fill:#c995ca}}"
    "</style>";

double width_of(std::string_view text) { return static_cast<double>(text.size()) * kCharacter; }

class Drawing {
 public:
  explicit Drawing(const ChartText& text) {
    svg_ = fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}">{2}
<rect class="page" width="{0}" height="{1}"/>
)",
                       kWidth, kHeight, kStyle);
    label(kLeft, 24, "start", text.title, "title");
    label(kLeft, 43, "start", text.subtitle, "quiet");
    label((kLeft + kRight) / 2, kHeight - 12, "middle", text.x_label, "quiet");
  }

  void label(double x, double y, std::string_view anchor, std::string_view text, std::string_view style = "plain") {
    svg_ += fmt::format(R"(<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)"
                        "\n",
                        style, x, y, anchor, escape_xml(text));
  }

  void line(double x1, double y1, double x2, double y2, std::string_view style) {
    svg_ += fmt::format(R"(<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>)"
                        "\n",
                        style, x1, y1, x2, y2);
  }

  void bar(double x, double y, double width, double height, std::size_t colour, std::string_view tooltip) {
    svg_ +=
        fmt::format(R"(<rect class="s{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"><title>{}</title></rect>)"
                    "\n",
                    colour, x, y, width, height, escape_xml(tooltip));
  }

  void area(const std::string& points, std::size_t colour, std::string_view tooltip) {
    svg_ += fmt::format(R"(<polygon class="s{}" points="{}"><title>{}</title></polygon>)"
                        "\n",
                        colour, points, escape_xml(tooltip));
  }

  // The next entry of the legend, in a new row where this one is full.
  void legend(std::string_view name, int colour) {
    constexpr double kSwatch = 12, kGap = 18;
    const double width = kSwatch + 6 + width_of(name);
    if (legend_x_ > kLeft && legend_x_ + width > kRight) {
      legend_x_ = kLeft;
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

  // What is drawn below the legend and `above` more units belongs to the plot.
  void begin_plot(const ChartAxis& axis, const std::string& y_label, double above) {
    axis_ = axis;
    const std::string title = axis.unit.empty() ? y_label : fmt::format("{} ({})", y_label, axis.unit);
    const double title_y = legend_x_ > kLeft ? legend_y_ + 22 : legend_y_;  // without a legend: in its place
    label(8, title_y, "start", title, "quiet");
    top_ = title_y + 12 + above;
    const int ticks = static_cast<int>(axis.end / axis.step + 0.5);
    for (int i = 0; i <= ticks; ++i) {
      const double value = i * axis.step;
      line(kLeft, y_of(value), kRight, y_of(value), i == 0 ? "axis" : "grid");
      label(kLeft - 8, y_of(value) + 4, "end", axis.tick(value), "quiet");
    }
  }

  double y_of(double value) const { return kBottom - (kBottom - top_) * value / axis_.end; }
  double top() const { return top_; }
  std::string finish() { return std::move(svg_) + "</svg>\n"; }

 private:
  std::string svg_;
  ChartAxis axis_;
  double top_ = 0;
  double legend_x_ = kLeft, legend_y_ = kLegendTop + 4;
};

void check_series(const std::vector<ChartSeries>& series, std::size_t values) {
  SLUICE_CHECK(!series.empty() && series.size() <= 4, "a chart has one to four series");
  for (const ChartSeries& each : series) SLUICE_CHECK(each.values.size() == values, "one value a category or step");
}

double sum_at(const std::vector<ChartSeries>& series, std::size_t i) {
  return std::accumulate(series.begin(), series.end(), 0.0,
                         [i](double sum, const ChartSeries& each) { return sum + each.values[i]; });
}

double largest_of(const std::vector<ChartSeries>& series, bool stacked) {
  double largest = 0;
  for (std::size_t i = 0; i < series[0].values.size(); ++i) {
    if (stacked) largest = std::max(largest, sum_at(series, i));
    for (const ChartSeries& each : series) largest = std::max(largest, each.values[i]);
  }
  return largest;
}

// All bars of one category, in [left, left + width).
void draw_category(Drawing& drawing, const BarChart& chart, std::size_t category, double left, double width) {
  const double bar_width = chart.stacked ? width : width / static_cast<double>(chart.series.size());
  double below = 0;
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    const ChartSeries& series = chart.series[s];
    const double value = series.values[category];
    const double x = chart.stacked ? left : left + static_cast<double>(s) * bar_width;
    const double top = drawing.y_of(below + value);
    const std::string text = format_quantity(value, chart.quantity);
    const std::string tooltip = fmt::format("{}, {}: {}", chart.categories[category], series.name, text);
    if (value > 0) drawing.bar(x, top, bar_width - 1, drawing.y_of(below) - top, s, tooltip);
    if (!chart.stacked) drawing.label(x + bar_width / 2, top - 5, "middle", text, "value");
    if (chart.stacked) below += value;
  }
  if (!chart.stacked) return;
  drawing.label(left + width / 2, drawing.y_of(below) - 5, "middle", format_quantity(below, chart.quantity), "value");
}

// The upper edge of a series as steps, then the edge below it backwards.
std::string band(const Drawing& drawing, const std::vector<double>& below, const std::vector<double>& above,
                 double step_width) {
  std::string points;
  const auto add = [&](std::size_t step, double value) {
    points += fmt::format("{:.1f},{:.1f} ", kLeft + static_cast<double>(step) * step_width, drawing.y_of(value));
  };
  for (std::size_t i = 0; i < above.size(); ++i) {
    add(i, above[i]);
    add(i + 1, above[i]);
  }
  for (std::size_t i = below.size(); i-- > 0;) {
    add(i + 1, below[i]);
    add(i, below[i]);
  }
  points.pop_back();
  return points;
}

void draw_bands(Drawing& drawing, const StepCurve& chart, double step_width) {
  std::vector<double> below(chart.series[0].values.size(), 0);
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    const std::vector<double>& values = chart.series[s].values;
    std::vector<double> above(below);
    for (std::size_t i = 0; i < values.size(); ++i) above[i] += values[i];
    const double peak = *std::ranges::max_element(values);
    drawing.area(band(drawing, below, above, step_width), s,
                 fmt::format("{}: at most {}", chart.series[s].name, format_quantity(peak, chart.quantity)));
    below = std::move(above);
  }
}

// One row of names a mark, so arranged that no line crosses a name: what is named to the left of its line lies highest,
// then from left to right each a row lower.
void draw_marks(Drawing& drawing, const StepCurve& chart, double step_width) {
  const auto x_of = [&](const StepCurve::Mark& mark) { return kLeft + mark.x * step_width; };
  const auto leftwards = [&](const StepCurve::Mark& mark) { return x_of(mark) + 6 + width_of(mark.name) > kRight; };
  std::vector<StepCurve::Mark> marks = chart.marks;
  std::ranges::stable_sort(marks, {}, [&](const StepCurve::Mark& mark) {
    return std::pair(!leftwards(mark), leftwards(mark) ? -mark.x : mark.x);
  });
  double y = drawing.top() - 6 - static_cast<double>(marks.size()) * kMarkHeight;
  for (const StepCurve::Mark& mark : marks) {
    y += kMarkHeight;
    const double x = x_of(mark);
    drawing.line(x, y - 10, x, kBottom, "line");
    drawing.label(leftwards(mark) ? x - 5 : x + 5, y, leftwards(mark) ? "end" : "start", mark.name);
  }
}

void draw_step_ticks(Drawing& drawing, std::size_t steps, double step_width) {
  const ChartAxis axis = round_axis(static_cast<double>(steps), Quantity::kCount);
  for (double x = 0; x <= static_cast<double>(steps); x += axis.step) {
    drawing.line(kLeft + x * step_width, kBottom, kLeft + x * step_width, kBottom + 4, "axis");
    drawing.label(kLeft + x * step_width, kBottom + 18, "middle", axis.tick(x), "quiet");
  }
}

}  // namespace

std::string escape_xml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&apos;";
        break;
      default:
        escaped += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return escaped;
}

std::string draw_bars(const BarChart& chart) {
  check_series(chart.series, chart.categories.size());
  Drawing drawing(chart.text);
  if (chart.series.size() > 1) {
    for (std::size_t s = 0; s < chart.series.size(); ++s) drawing.legend(chart.series[s].name, static_cast<int>(s));
  }
  constexpr double kRoomForValues = 12;
  drawing.begin_plot(round_axis(largest_of(chart.series, chart.stacked), chart.quantity), chart.text.y_label,
                     kRoomForValues);
  const double slot = (kRight - kLeft) / static_cast<double>(std::max<std::size_t>(1, chart.categories.size()));
  for (std::size_t i = 0; i < chart.categories.size(); ++i) {
    const double left = kLeft + slot * static_cast<double>(i);
    const double width = slot * (chart.stacked ? 0.6 : 0.8);
    draw_category(drawing, chart, i, left + (slot - width) / 2, width);
    drawing.label(left + slot / 2, kBottom + 18, "middle", chart.categories[i]);
  }
  return drawing.finish();
}

std::string draw_curve(const StepCurve& chart) {
  SLUICE_CHECK(!chart.series.empty(), "a curve needs a series");
  const std::size_t steps = chart.series[0].values.size();
  check_series(chart.series, steps);
  SLUICE_CHECK(steps > 0, "a curve needs a step");
  Drawing drawing(chart.text);
  for (std::size_t s = 0; s < chart.series.size(); ++s) drawing.legend(chart.series[s].name, static_cast<int>(s));
  for (const StepCurve::Level& level : chart.levels) drawing.legend(level.name, -1);
  double largest = largest_of(chart.series, true);
  for (const StepCurve::Level& level : chart.levels) largest = std::max(largest, level.value);
  drawing.begin_plot(round_axis(largest, chart.quantity), chart.text.y_label,
                     static_cast<double>(chart.marks.size()) * kMarkHeight);
  const double step_width = (kRight - kLeft) / static_cast<double>(steps);
  draw_bands(drawing, chart, step_width);
  for (const StepCurve::Level& level : chart.levels) {
    drawing.line(kLeft, drawing.y_of(level.value), kRight, drawing.y_of(level.value), "line");
  }
  draw_marks(drawing, chart, step_width);
  draw_step_ticks(drawing, steps, step_width);
  return drawing.finish();
}

}  // namespace sluice
