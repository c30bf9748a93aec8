#include "sluice/report/breakdown_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sluice/report/charts/chart_drawing.hpp"
#include "sluice/report/text_table.hpp"

namespace sluice {
namespace {

struct PartColumn {
  const char* title;
  Seconds TimeBreakdown::*seconds;
};

// Those that add up to the step, as they are stacked.
constexpr std::array<PartColumn, 5> kStacked{{{"computation", &TimeBreakdown::computation},
                                              {"recomputation", &TimeBreakdown::recomputation},
                                              {"exposed transfer", &TimeBreakdown::exposed_transfer},
                                              {"processor wait", &TimeBreakdown::processor_wait},
                                              {"other", &TimeBreakdown::other}}};

std::string milliseconds(Seconds seconds) { return fmt::format("{:.2f}", seconds * 1e3); }

}  // namespace

std::string breakdown_table(const std::vector<NamedBreakdown>& steps) {
  std::vector<TableColumn> columns{{"ms", Align::kLeft, 0}, {"step", Align::kRight, 0}};
  for (const PartColumn& part : kStacked) columns.push_back({part.title, Align::kRight, 0});
  columns.push_back({"overlapped transfer", Align::kRight, 0});
  TextTable table(columns);
  for (const NamedBreakdown& step : steps) {
    std::vector<std::string> cells{step.name, milliseconds(step.parts.step())};
    for (const PartColumn& part : kStacked) cells.push_back(milliseconds(step.parts.*part.seconds));
    cells.push_back(milliseconds(step.parts.overlapped_transfer));
    table.add_row(cells);
  }
  return table.text();
}

std::string breakdown_picture(const std::vector<NamedBreakdown>& steps, std::string_view subtitle) {
  if (steps.empty()) return "";
  double longest = 0;
  for (const NamedBreakdown& step : steps) longest = std::max(longest, step.parts.step() * 1e3);
  ChartDrawing drawing("Where the time of a step goes", subtitle);
  for (std::size_t i = 0; i < kStacked.size(); ++i) drawing.legend(kStacked[i].title, static_cast<int>(i));
  drawing.begin_plot(round_axis(longest, Quantity::kCount), {"", "", "", "ms"}, 0);
  const double slot = (kChartRight - kChartLeft) / static_cast<double>(steps.size());
  const double width = std::min(0.7 * slot, 90.0);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double middle = kChartLeft + slot * (static_cast<double>(i) + 0.5);
    double below = 0;
    for (std::size_t k = 0; k < kStacked.size(); ++k) {
      const double part = std::max(0.0, steps[i].parts.*kStacked[k].seconds * 1e3);
      const double top = drawing.y_of(below + part);
      drawing.bar(middle - width / 2, top, width, drawing.y_of(below) - top, k,
                  fmt::format("{}: {} {:.2f} ms", steps[i].name, kStacked[k].title, part));
      below += part;
    }
    const std::size_t comma = steps[i].name.find(", ");
    drawing.label(middle, kChartBottom + 18, "middle", std::string_view(steps[i].name).substr(0, comma));
    if (comma != std::string::npos)
      drawing.label(middle, kChartBottom + 34, "middle", std::string_view(steps[i].name).substr(comma + 2));
  }
  return drawing.finish();
}

}  // namespace sluice
