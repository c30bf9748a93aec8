#include "sluice/report/bound_note.hpp"

#include <fmt/format.h>

#include "sluice/planners/planner.hpp"
#include "sluice/planners/registry/registry.hpp"

namespace sluice::report {

bool bound_applies(const plan::Plan& plan) {
  const planners::PlannerEntry* planner = planners::find_planner(plan.planner);
  return planner != nullptr && planner->keeps_short_lived_fast && plan.schedule.empty();
}

graph::FastMemoryBound bound_of(const graph::Graph& graph) {
  return graph::measure_bound(graph, graph::analyze_liveness(graph));
}

std::string describe_bound(const graph::Graph& graph, const graph::FastMemoryBound& bound) {
  std::string text = fmt::format("{}: {} of short-lived tensors at once", format_bytes(bound.bytes()),
                                 format_bytes(bound.short_lived_peak));
  if (bound.largest_long_lived >= 0) {
    text += fmt::format(" and {} ({})", graph.tensor(bound.largest_long_lived).name,
                        format_bytes(bound.largest_long_lived_bytes));
  }
  return text;
}

std::optional<std::string> explain_below_bound(const graph::FastMemoryBound& bound, Bytes budget,
                                               const std::optional<Loss>& loss) {
  if (budget >= bound.bytes()) return std::nullopt;
  std::string text = fmt::format(
      "the budget of {} is below the lower bound on fast memory, {} (Sentinel, section IV-E): short-lived tensors have "
      "to move often, or long-lived ones find no room. The paper expects to lose more than {:.0f} % then",
      format_bytes(budget), format_bytes(bound.bytes()), 100 * kLossBelowBound);
  if (loss) text += fmt::format("; {} here: {:.1f} %", loss->how, 100 * loss->share);
  return text;
}

nlohmann::json bound_json(const graph::Graph& graph, const graph::FastMemoryBound& bound) {
  nlohmann::json object{{"bytes", bound.bytes()},
                        {"short_lived_peak_bytes", bound.short_lived_peak},
                        {"short_lived_peak_op", graph.op(bound.short_lived_peak_op).name},
                        {"largest_long_lived_bytes", bound.largest_long_lived_bytes}};
  if (bound.largest_long_lived >= 0) object["largest_long_lived"] = graph.tensor(bound.largest_long_lived).name;
  return object;
}

}  // namespace sluice::report
