#include "sluice/report/sweep/sweep_json.hpp"

#include "sluice/experiment/sweep_prices.hpp"

namespace sluice::report {
namespace {

using nlohmann::json;

json measured_json(const experiment::MeasuredPoint& measured) {
  return {{"slowdown", measured.slowdown},
          {"slowdown_min", measured.slowdown_min},
          {"slowdown_max", measured.slowdown_max},
          {"step_ms", measured.step_seconds * 1e3},
          {"fast_only_ms", measured.baseline_seconds * 1e3},
          {"prediction_error", measured.prediction_error},
          {"same_bits", measured.same_bits}};
}

json point_json(const experiment::SweptModel& swept, const experiment::SweepPoint& point) {
  json object{{"planner", point.planner}, {"budget_bytes", point.budget}, {"share", swept.share(point)}};
  if (!point.feasible()) {
    object["infeasible"] = point.failure;
    if (point.smallest_feasible) object["smallest_feasible_bytes"] = *point.smallest_feasible;
    return object;
  }
  object["predicted_ms"] = point.step_seconds * 1e3;
  object["predicted_slowdown"] = point.slowdown;
  object["planned_for_bytes"] = point.planned_for;
  if (point.bound_seconds > 0) object["bound_slowdown"] = point.bound_seconds / swept.baseline_seconds;
  object["knee"] = experiment::knee_of(swept, point.planner) == &point;
  object["stall_ms"] = point.stall_seconds * 1e3;
  object["bytes_in"] = point.bytes_in;
  object["bytes_out"] = point.bytes_out;
  object["locality"] = {{"by_bytes", point.locality.by_bytes()}, {"by_objects", point.locality.by_objects()}};
  if (point.slow_bytes) object["slow_bytes"] = *point.slow_bytes;
  if (point.fast_operands) {
    object["fast_operands"] = {{"inputs", point.fast_operands->inputs}, {"outputs", point.fast_operands->outputs}};
  }
  if (point.measured) object["measured"] = measured_json(*point.measured);
  if (const auto priced = swept.prices ? experiment::price_of(swept, point, *swept.prices) : std::nullopt) {
    const experiment::SweepPoint* const cheapest =
        experiment::cheapest_within(swept, point.planner, *swept.prices, swept.allowed_loss);
    object["price"] = {{"cost", priced->cost}, {"performance", priced->performance}, {"cheapest", cheapest == &point}};
  }
  return object;
}

json no_loss_json(const experiment::SweptModel& swept, const experiment::NoLossPoint& found) {
  json object = point_json(swept, found.point);
  object["allowed_loss"] = found.allowed;
  object["grid_bytes"] = found.grid;
  object["budgets_tried"] = found.budgets_tried;
  return object;
}

}  // namespace

json sweep_json(std::span<const experiment::SweptModel> models) {
  json list = json::array();
  for (const experiment::SweptModel& swept : models) {
    json points = json::array(), no_loss = json::array();
    for (const experiment::SweepPoint& point : swept.points) points.push_back(point_json(swept, point));
    for (const experiment::NoLossPoint& found : swept.no_loss) no_loss.push_back(no_loss_json(swept, found));
    list.push_back({{"model", swept.model},
                    {"batch", swept.batch},
                    {"fast_only_bytes", swept.whole},
                    {"fast_only_predicted_ms", swept.baseline_seconds * 1e3},
                    {"points", points},
                    {"no_loss", no_loss}});
  }
  return list;
}

}  // namespace sluice::report
