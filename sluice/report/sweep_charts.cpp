#include "sluice/report/sweep_charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "sluice/base/check.hpp"
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

enum class Curve : std::uint8_t { kPredicted, kMeasured, kBound };
constexpr Curve kCurves[] = {Curve::kPredicted, Curve::kMeasured, Curve::kBound};
constexpr LineStyle kStyles[] = {LineStyle::kSolid, LineStyle::kDashed, LineStyle::kDotted};
constexpr std::string_view kNames[] = {"predicted", "measured", "bound"};

// 0: the curve has nothing there.
double slowdown_of(const SweptModel& swept, const SweepPoint& point, Curve curve) {
  switch (curve) {
    case Curve::kPredicted:
      return point.slowdown;
    case Curve::kMeasured:
      return point.measured ? point.measured->slowdown : 0;
    case Curve::kBound:
      return point.bound_seconds / swept.baseline_seconds;
  }
  SLUICE_CHECK(false, "every curve is listed");
}

LineSeries curve_of(const SweptModel& swept, const std::string& planner, Curve curve) {
  const auto index = static_cast<std::size_t>(curve);
  const SweepPoint* const knee = curve == Curve::kPredicted ? knee_of(swept, planner) : nullptr;
  LineSeries series{.style = kStyles[index]};
  for (const SweepPoint& point : swept.points) {
    const double slowdown = slowdown_of(swept, point, curve);
    if (point.planner != planner || !point.feasible() || slowdown == 0) continue;
    const double percent = 100 * swept.share(point);
    series.points.push_back({percent, 100 * (slowdown - 1),
                             fmt::format("{}, {}, {:.0f} %: {:.3f}x {}{}", name_of(swept), planner, percent, slowdown,
                                         kNames[index], &point == knee ? ", the knee" : ""),
                             &point == knee});
  }
  std::ranges::sort(series.points, {}, &LinePoint::x);
  return series;
}

std::string subtitle_of(const LineChart& chart, bool emulated) {
  std::string text = "predicted";
  const auto has = [&](auto is_so) { return std::ranges::any_of(chart.series, is_so); };
  if (has([](const LineSeries& each) { return std::ranges::any_of(each.points, &LinePoint::ringed); })) {
    text += " (ring: the knee)";
  }
  if (has([](const LineSeries& each) { return each.style == LineStyle::kDashed; })) text += ", measured (dashed)";
  if (has([](const LineSeries& each) { return each.style == LineStyle::kDotted; })) text += ", bound (dotted)";
  return text + (emulated ? "; slow memory emulated" : "");
}

std::string draw_curves(std::span<const SweptModel> models, bool emulated) {
  LineChart chart{.text = {"Slowdown over fast memory", "", "fast memory, % of what everything takes",
                           "step time beyond fast-only's, %"}};
  std::size_t colour = 0;
  for (const SweptModel& swept : models) {
    for (const std::string& planner : planners_of(swept)) {
      for (const Curve curve : kCurves) {
        LineSeries series = curve_of(swept, planner, curve);
        if (series.points.empty()) continue;
        series.colour = colour;
        if (curve == Curve::kPredicted) series.name = name_of(swept) + ", " + planner;
        chart.series.push_back(std::move(series));
      }
      ++colour;
    }
  }
  chart.text.subtitle = subtitle_of(chart, emulated);
  return chart.series.empty() ? "" : draw_lines(chart);
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
