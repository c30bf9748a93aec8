#include "sluice/report/sweep/sweep_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/experiment/sweep_prices.hpp"
#include "sluice/report/text_table.hpp"

namespace sluice::report {
namespace {

double as_double(std::int64_t number) { return static_cast<double>(number); }

std::string mib_text(Bytes bytes) { return fmt::format("{:.1f}", as_double(bytes) / as_double(kMiB)); }
std::string ms_text(Seconds seconds) { return fmt::format("{:.1f}", seconds * 1e3); }
std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

std::vector<std::string> measured_cells(const experiment::SweepPoint& point) {
  if (!point.measured) return {"", "", "", "", ""};
  const experiment::MeasuredPoint& measured = *point.measured;
  return {fmt::format("{:.3f}x", measured.slowdown), fmt::format("{:.3f}x", measured.slowdown_min),
          fmt::format("{:.3f}x", measured.slowdown_max), fmt::format("{:+.1f}%", 100 * measured.prediction_error),
          measured.same_bits ? "same" : "DIFFER"};
}

// Over fast memory for everything.
std::vector<std::string> price_cells(const experiment::SweptModel& swept, const experiment::SweepPoint& point) {
  const std::optional<experiment::PricedPoint> priced = experiment::price_of(swept, point, *swept.prices);
  if (!priced) return {"", "", ""};
  return {percent(priced->cost), percent(priced->performance), fmt::format("{:.2f}", priced->per_cost())};
}

std::string cheapest_text(const experiment::SweptModel& swept, std::string_view planner) {
  const experiment::SweepPoint* const cheapest =
      experiment::cheapest_within(swept, planner, *swept.prices, swept.allowed_loss);
  if (cheapest == nullptr)
    return fmt::format("{}: no budget here is at most {} slower\n", planner, percent(swept.allowed_loss));
  return fmt::format("{}: the cheapest memory that is at most {} slower: {} fast, for {} of the price\n", planner,
                     percent(swept.allowed_loss), percent(swept.share(*cheapest)),
                     percent(experiment::price_of(swept, *cheapest, *swept.prices)->cost));
}

std::string share_text(const experiment::SweepPoint& point, double plan::OperandShares::*share) {
  return point.fast_operands ? percent((*point.fast_operands).*share) : "";
}

std::string bound_text(const experiment::SweptModel& swept, const experiment::SweepPoint& point) {
  return point.bound_seconds > 0 ? fmt::format("{:.3f}x", point.bound_seconds / swept.baseline_seconds) : "";
}

std::vector<std::string> point_cells(const experiment::SweptModel& swept, const experiment::SweepPoint& point,
                                     bool measured) {
  std::vector<std::string> cells{point.planner, percent(swept.share(point)), mib_text(point.budget)};
  if (point.feasible()) {
    cells.insert(cells.end(), {fmt::format("{:.3f}x", point.slowdown), bound_text(swept, point),
                               ms_text(point.step_seconds), ms_text(point.stall_seconds), mib_text(point.bytes_in),
                               mib_text(point.bytes_out), share_text(point, &plan::OperandShares::inputs),
                               share_text(point, &plan::OperandShares::outputs), percent(point.locality.by_bytes())});
  } else {
    cells.insert(cells.end(), {"infeasible", "", "", "", "", "", "", "", ""});
  }
  if (measured) {
    for (std::string& cell : measured_cells(point)) cells.push_back(std::move(cell));
  }
  if (swept.prices) {
    for (std::string& cell : price_cells(swept, point)) cells.push_back(std::move(cell));
  }
  return cells;
}

// Where each planner's curve bends, and which points are plans for less memory.
std::string notes_text(const experiment::SweptModel& swept) {
  std::string text;
  std::vector<std::string_view> named;
  for (const experiment::SweepPoint& point : swept.points) {
    if (point.feasible() && point.planned_for < point.budget) {
      text += fmt::format("{}: at {} the plan for {} is the fastest\n", point.planner, percent(swept.share(point)),
                          format_bytes(point.planned_for));
    }
    if (std::ranges::find(named, point.planner) != named.end()) continue;
    named.push_back(point.planner);
    if (swept.prices) text += cheapest_text(swept, point.planner);
    const experiment::SweepPoint* const knee = experiment::knee_of(swept, point.planner);
    if (knee == nullptr) continue;
    text += fmt::format("{}: the knee of its curve is at {}, {:.3f}x\n", point.planner, percent(swept.share(*knee)),
                        knee->slowdown);
  }
  return text;
}

// Why there are points without figures: the smallest feasible budget once a planner, other reasons once each.
std::string failures_text(const experiment::SweptModel& swept) {
  std::vector<std::string> reasons;
  for (const experiment::SweepPoint& point : swept.points) {
    if (point.feasible()) continue;
    const std::string reason = point.smallest_feasible
                                   ? fmt::format("{}: the smallest budget it can use is {} ({:.1f} %)", point.planner,
                                                 format_bytes(*point.smallest_feasible),
                                                 100 * as_double(*point.smallest_feasible) / as_double(swept.whole))
                                   : fmt::format("{}: {}", point.planner, point.failure);
    if (std::ranges::find(reasons, reason) == reasons.end()) reasons.push_back(reason);
  }
  std::string text;
  for (const std::string& reason : reasons) text += reason + "\n";
  return text;
}

}  // namespace

std::string describe_sweep(const experiment::SweptModel& swept) {
  const bool measured =
      std::ranges::any_of(swept.points, [](const experiment::SweepPoint& p) { return p.measured.has_value(); });
  std::vector<TableColumn> columns{{"planner", Align::kLeft, 0}};
  for (const char* title : {"fast", "MiB", "predicted", "bound", "step ms", "stall ms", "in MiB", "out MiB", "inputs",
                            "outputs", "local"}) {
    columns.push_back({title, Align::kRight, 0});
  }
  if (measured) {
    for (const char* title : {"measured", "min", "max", "error"}) columns.push_back({title, Align::kRight, 0});
    columns.push_back({"bits", Align::kLeft, 0});
  }
  if (swept.prices) {
    for (const char* title : {"price", "performance", "per price"}) columns.push_back({title, Align::kRight, 0});
  }
  TextTable table(std::move(columns));
  for (const experiment::SweepPoint& point : swept.points) table.add_row(point_cells(swept, point, measured));
  return fmt::format("{}, batch {}: {} in all, fast-only's step {} (predicted)\n\n{}{}{}", swept.model, swept.batch,
                     format_bytes(swept.whole), format_seconds(swept.baseline_seconds), table.text(), notes_text(swept),
                     failures_text(swept));
}

std::string provenance_text(bool emulated) {
  return fmt::format("simulated with measured op times{}", emulated ? "; slow memory emulated" : "");
}

std::string describe_no_loss(std::span<const experiment::SweptModel> models) {
  TextTable table({{"model", Align::kLeft, 0},
                   {"batch", Align::kRight, 0},
                   {"planner", Align::kLeft, 0},
                   {"everything MiB", Align::kRight, 0},
                   {"no loss MiB", Align::kRight, 0},
                   {"share", Align::kRight, 0},
                   {"predicted", Align::kRight, 0},
                   {"measured", Align::kRight, 0},
                   {"budgets tried", Align::kRight, 0}});
  std::string failures;
  for (const experiment::SweptModel& swept : models) {
    for (const experiment::NoLossPoint& found : swept.no_loss) {
      const experiment::SweepPoint& point = found.point;
      if (!point.feasible()) failures += fmt::format("{}: {}\n", swept.model, point.failure);
      const auto cell = [&](const std::string& text) { return point.feasible() ? text : "-"; };
      table.add_row({swept.model, fmt::format("{}", swept.batch), point.planner, mib_text(swept.whole),
                     cell(mib_text(point.budget)), cell(percent(swept.share(point))),
                     cell(fmt::format("{:.3f}x", point.slowdown)),
                     point.measured ? fmt::format("{:.3f}x", point.measured->slowdown) : "",
                     fmt::format("{}", found.budgets_tried)});
    }
  }
  return table.text() + failures;
}

}  // namespace sluice::report
