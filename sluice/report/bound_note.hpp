// Sentinel's lower bound on fast memory (graph/fast_memory_bound.hpp) beside a budget, in words and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "sluice/graph/fast_memory_bound.hpp"
#include "sluice/plan/plan.hpp"

namespace sluice::report {

// What the paper expects a budget below the bound to cost, beyond the step time in fast memory alone.
inline constexpr double kLossBelowBound = 0.2;

// Whether the bound holds for this plan. It is about plans that keep short-lived tensors in the fast tier, in the
// graph's own order; the planner's entry says whether its plans do (PlannerEntry::keeps_short_lived_fast).
bool bound_applies(const plan::Plan& plan);
graph::FastMemoryBound bound_of(const graph::Graph& graph);

// "48.0 MiB: 8.0 MiB of short-lived tensors at once and conv1.y (40.0 MiB)"
std::string describe_bound(const graph::Graph& graph, const graph::FastMemoryBound& bound);

// How much longer a step takes than with everything in fast memory, and how that is known.
struct Loss {
  double share = 0;
  std::string_view how;  // "predicted"
};

// Why a budget below the bound hurts, and what it costs here; nothing where the budget is not below it.
std::optional<std::string> explain_below_bound(const graph::FastMemoryBound& bound, Bytes budget,
                                               const std::optional<Loss>& loss);

// {"bytes", "short_lived_peak_bytes", "short_lived_peak_op", "largest_long_lived_bytes", "largest_long_lived"}
nlohmann::json bound_json(const graph::Graph& graph, const graph::FastMemoryBound& bound);

}  // namespace sluice::report
