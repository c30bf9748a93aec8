#include <fmt/format.h>

#include <algorithm>

#include "sluice/report/sweep/sweep_charts.hpp"
#include "sluice/report/sweep/sweep_curves.hpp"
#include "sluice/report/sweep/sweep_text.hpp"

namespace sluice {
namespace {

LinePanel operand_panel(std::span<const SweptModel> models, std::string label, double OperandShares::*share) {
  LinePanel panel{.y_label = std::move(label), .reaches = 100};
  add_curves(panel, models, LineStyle::kSolid,
             [share](const SweptModel&, const SweepPoint& point) -> std::optional<CurveValue> {
               if (!point.fast_operands) return std::nullopt;
               const double percent = 100 * (*point.fast_operands).*share;
               return CurveValue{percent, fmt::format("{:.1f} % in fast memory", percent)};
             });
  return panel;
}

// Both directions have one scale.
LinePanel moved_panel(std::span<const SweptModel> models, std::string label, Bytes SweepPoint::*moved) {
  LinePanel panel{.y_label = std::move(label), .quantity = Quantity::kBytes};
  for (const SweptModel& swept : models) {
    for (const SweepPoint& point : swept.points) {
      panel.reaches = std::max(panel.reaches, static_cast<double>(std::max(point.bytes_in, point.bytes_out)));
    }
  }
  add_curves(panel, models, LineStyle::kSolid, [moved](const SweptModel&, const SweepPoint& point) {
    return std::optional(CurveValue{static_cast<double>(point.*moved), format_bytes(point.*moved) + " moved a step"});
  });
  return panel;
}

}  // namespace

std::string draw_sweep_traffic(std::span<const SweptModel> models, bool emulated) {
  return draw_sweep_panels(
      "Operands and moves over fast memory", provenance_text(emulated),
      {operand_panel(models, "inputs in fast memory, % of the bytes that ops read", &OperandShares::inputs),
       operand_panel(models, "outputs in fast memory, % of the bytes that ops write", &OperandShares::outputs),
       moved_panel(models, "moved into fast memory a step", &SweepPoint::bytes_in),
       moved_panel(models, "moved out of fast memory a step", &SweepPoint::bytes_out)});
}

}  // namespace sluice
