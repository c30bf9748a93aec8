#include "sluice/report/sweep/sweep_curves.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sluice {
namespace {

std::vector<std::string> planners_of(const SweptModel& swept) {
  std::vector<std::string> names;
  for (const SweepPoint& point : swept.points) {
    if (std::ranges::find(names, point.planner) == names.end()) names.push_back(point.planner);
  }
  return names;
}

std::vector<LinePoint> points_of(const SweptModel& swept, const std::string& planner, const CurveValueOf& value_of) {
  std::vector<LinePoint> points;
  for (const SweepPoint& point : swept.points) {
    if (point.planner != planner || !point.feasible()) continue;
    const std::optional<CurveValue> value = value_of(swept, point);
    if (!value) continue;
    const double percent = 100 * swept.share(point);
    points.push_back({percent, value->y,
                      fmt::format("{}, {}, {:.0f} %: {}", chart_name(swept), planner, percent, value->text),
                      value->ringed});
  }
  std::ranges::sort(points, {}, &LinePoint::x);
  return points;
}

}  // namespace

std::string chart_name(const SweptModel& swept) { return fmt::format("{} b{}", swept.model, swept.batch); }

void add_curves(LinePanel& panel, std::span<const SweptModel> models, LineStyle style, const CurveValueOf& value_of) {
  std::size_t colour = 0;
  for (const SweptModel& swept : models) {
    for (const std::string& planner : planners_of(swept)) {
      std::vector<LinePoint> points = points_of(swept, planner, value_of);
      const std::size_t its_colour = colour++;
      if (points.empty()) continue;
      panel.series.push_back({chart_name(swept) + ", " + planner, its_colour, style, std::move(points)});
    }
  }
}

std::string draw_sweep_panels(const std::string& title, const std::string& subtitle, std::vector<LinePanel> panels) {
  std::erase_if(panels, [](const LinePanel& panel) { return panel.series.empty(); });
  if (panels.empty()) return "";
  return draw_lines({title, subtitle, "fast memory, % of what everything takes", std::move(panels)});
}

}  // namespace sluice
