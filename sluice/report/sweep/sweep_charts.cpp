#include "sluice/report/sweep/sweep_charts.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "sluice/experiment/sweep_prices.hpp"
#include "sluice/report/charts/svg_chart.hpp"
#include "sluice/report/sweep/sweep_curves.hpp"
#include "sluice/report/sweep/sweep_text.hpp"

namespace sluice {
namespace {

constexpr std::size_t kMostPlanners = 3;  // beside everything, of a bar chart's four series

// "predicted, measured (dashed); ring: the knee": what is in the panel.
std::string note_of(const LinePanel& panel, std::string_view ring) {
  const auto has = [&](LineStyle style) {
    return std::ranges::any_of(panel.series, [&](const LineSeries& each) { return each.style == style; });
  };
  const bool rings = std::ranges::any_of(
      panel.series, [](const LineSeries& each) { return std::ranges::any_of(each.points, &LinePoint::ringed); });
  std::vector<std::string> parts;
  if (has(LineStyle::kSolid)) parts.emplace_back("predicted");
  if (has(LineStyle::kDashed)) parts.emplace_back("measured (dashed)");
  if (has(LineStyle::kDotted)) parts.emplace_back("bound (dotted)");
  return fmt::format("{}{}{}", fmt::join(parts, ", "), rings ? "; ring: " : "", rings ? ring : "");
}

std::optional<CurveValue> slowdown_value(double slowdown, std::string_view what, bool knee = false) {
  if (slowdown == 0) return std::nullopt;
  return CurveValue{100 * (slowdown - 1), fmt::format("{:.3f}x {}{}", slowdown, what, knee ? ", the knee" : ""), knee};
}

LinePanel slowdown_panel(std::span<const SweptModel> models) {
  LinePanel panel{.y_label = "step time beyond fast-only's, %"};
  add_curves(panel, models, LineStyle::kSolid, [](const SweptModel& swept, const SweepPoint& point) {
    return slowdown_value(point.slowdown, "predicted", knee_of(swept, point.planner) == &point);
  });
  add_curves(panel, models, LineStyle::kDashed, [](const SweptModel&, const SweepPoint& point) {
    return slowdown_value(point.measured ? point.measured->slowdown : 0, "measured");
  });
  add_curves(panel, models, LineStyle::kDotted, [](const SweptModel& swept, const SweepPoint& point) {
    return slowdown_value(point.bound_seconds / swept.baseline_seconds, "bound");
  });
  panel.note = note_of(panel, "the knee");
  return panel;
}

// By measured steps where there are any, as in the table.
std::optional<CurveValue> price_value(const SweptModel& swept, const SweepPoint& point, bool measured) {
  if (!swept.prices || point.measured.has_value() != measured) return std::nullopt;
  const std::optional<PricedPoint> priced = price_of(swept, point, *swept.prices);
  if (!priced) return std::nullopt;
  const bool cheapest = cheapest_within(swept, point.planner, *swept.prices, swept.allowed_loss) == &point;
  return CurveValue{priced->per_cost(),
                    fmt::format("{:.2f} per price, performance {:.1f} % {}, price {:.1f} %{}", priced->per_cost(),
                                100 * priced->performance, measured ? "measured" : "predicted", 100 * priced->cost,
                                cheapest ? ", the cheapest" : ""),
                    cheapest};
}

LinePanel price_panel(std::span<const SweptModel> models) {
  LinePanel panel{.y_label = "performance per price (fast memory for everything: 1)",
                  .quantity = Quantity::kRatio,
                  .level = ChartLevel{1, "above: slow memory is worth its price"}};
  for (const bool measured : {false, true}) {
    add_curves(
        panel, models, measured ? LineStyle::kDashed : LineStyle::kSolid,
        [measured](const SweptModel& swept, const SweepPoint& point) { return price_value(swept, point, measured); });
  }
  const double loss = models.front().allowed_loss;
  panel.note = note_of(panel, fmt::format("the cheapest at most {:g} % slower", 100 * loss));
  return panel;
}

std::string draw_no_loss(std::span<const SweptModel> models, bool emulated) {
  const std::vector<NoLossPoint>& first = models.front().no_loss;
  BarChart chart{.text = {"Fast memory without loss",
                          fmt::format("predicted step at most {:.1f} % longer than fast-only's; {}",
                                      100 * first.front().allowed, provenance_text(emulated)),
                          "model", "memory"},
                 .quantity = Quantity::kBytes,
                 .series = {{"everything", {}}},
                 .stacked = false};
  const std::size_t planners = std::min(first.size(), kMostPlanners);
  for (std::size_t i = 0; i < planners; ++i) chart.series.push_back({first[i].point.planner, {}});
  for (const SweptModel& swept : models) {
    if (swept.no_loss.size() < planners) continue;  // interrupted
    chart.categories.push_back(chart_name(swept));
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
  if (!models.front().no_loss.empty()) return draw_no_loss(models, emulated);
  const LinePanel price = price_panel(models);
  return draw_sweep_panels(price.series.empty() ? "Slowdown over fast memory" : "Slowdown and price over fast memory",
                           "predicted: " + provenance_text(emulated), {slowdown_panel(models), price});
}

}  // namespace sluice
