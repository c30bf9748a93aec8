#include "sluice/report/sweep_charts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/report/charts/line_chart.hpp"
#include "sluice/report/charts/svg_chart.hpp"

namespace sluice {
namespace {

constexpr std::size_t kMostPlanners = 3;  // beside everything, of a bar chart's four series

std::string name_of(const SweptModel& swept) { return fmt::format("{} b{}", swept.model, swept.batch); }

std::vector<std::string> planners_of(const SweptModel& swept) {
  std::vector<std::string> names;
  for (const SweepPoint& point : swept.points) {
    if (std::ranges::find(names, point.planner) == names.end()) names.push_back(point.planner);
  }
  return names;
}

LineSeries curve_of(const SweptModel& swept, const std::string& planner, bool measured) {
  LineSeries series{.measured = measured};
  for (const SweepPoint& point : swept.points) {
    if (point.planner != planner || !point.feasible() || (measured && !point.measured)) continue;
    const double slowdown = measured ? point.measured->slowdown : point.slowdown;
    const double percent = 100 * swept.share(point);
    series.points.push_back({percent, 100 * (slowdown - 1),
                             fmt::format("{}, {}, {:.0f} %: {:.3f}x {}", name_of(swept), planner, percent, slowdown,
                                         measured ? "measured" : "predicted")});
  }
  std::ranges::sort(series.points, {}, &LinePoint::x);
  return series;
}

std::string draw_curves(std::span<const SweptModel> models, bool emulated) {
  LineChart chart{.text = {"Slowdown over fast memory", emulated ? "predicted; slow memory emulated" : "predicted",
                           "fast memory, % of what everything takes", "step time beyond fast-only's, %"}};
  std::size_t colour = 0, points = 0;
  for (const SweptModel& swept : models) {
    for (const std::string& planner : planners_of(swept)) {
      for (const bool measured : {false, true}) {
        LineSeries series = curve_of(swept, planner, measured);
        if (series.points.empty()) continue;
        points += series.points.size();
        series.colour = colour;
        if (!measured) series.name = name_of(swept) + ", " + planner;
        if (measured)
          chart.text.subtitle =
              emulated ? "predicted, and measured (dashed); slow memory emulated" : "predicted, and measured (dashed)";
        chart.series.push_back(std::move(series));
      }
      ++colour;
    }
  }
  return points == 0 ? "" : draw_lines(chart);
}

std::string draw_no_loss(std::span<const SweptModel> models, bool emulated) {
  const std::vector<NoLossPoint>& first = models.front().no_loss;
  BarChart chart{.text = {"Fast memory without loss",
                          fmt::format("predicted step at most {:.1f} % longer than fast-only's{}",
                                      100 * first.front().allowed, emulated ? "; slow memory emulated" : ""),
                          "model", "memory"},
                 .quantity = Quantity::kBytes,
                 .series = {{"everything", {}}},
                 .stacked = false};
  const std::size_t planners = std::min(first.size(), kMostPlanners);
  for (std::size_t i = 0; i < planners; ++i) chart.series.push_back({first[i].point.planner, {}});
  for (const SweptModel& swept : models) {
    if (swept.no_loss.size() < planners) continue;  // interrupted
    chart.categories.push_back(name_of(swept));
    chart.series[0].values.push_back(static_cast<double>(swept.whole));
    for (std::size_t i = 0; i < planners; ++i) {
      const SweepPoint& point = swept.no_loss[i].point;
      chart.series[i + 1].values.push_back(point.feasible() ? static_cast<double>(point.budget) : 0);
    }
  }
  return chart.categories.empty() ? "" : draw_bars(chart);
}

}  // namespace

std::string draw_sweep(std::span<const SweptModel> models, bool emulated) {
  if (models.empty()) return "";
  return models.front().no_loss.empty() ? draw_curves(models, emulated) : draw_no_loss(models, emulated);
}

}  // namespace sluice
