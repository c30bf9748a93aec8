// Curves over the share of fast memory: what all pictures of a sweep have in common. Pure functions.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sluice/experiment/sweep_result.hpp"
#include "sluice/report/charts/line_chart.hpp"

namespace sluice {

// What a curve says of one point of a sweep.
struct CurveValue {
  double y = 0;
  std::string text;  // for the tooltip
  bool ringed = false;
};

// Of a feasible point; nothing where the curve has no value there.
using CurveValueOf = std::function<std::optional<CurveValue>(const SweptModel&, const SweepPoint&)>;

std::string chart_name(const SweptModel& swept);  // "resnet20 b8"

// A line for each model and planner that has a value somewhere, in the colour that is theirs in every panel.
void add_curves(LinePanel& panel, std::span<const SweptModel> models, LineStyle style, const CurveValueOf& value_of);

// The panels that have a curve, over the share of fast memory; "" when none has.
std::string draw_sweep_panels(const std::string& title, const std::string& subtitle, std::vector<LinePanel> panels);

}  // namespace sluice
