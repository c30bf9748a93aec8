// A sweep over fast budgets as JSON for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "sluice/experiment/sweep_result.hpp"

namespace sluice::report {

// [{"model", "batch", "fast_only_bytes", "fast_only_predicted_ms", "points": [...], "no_loss": [...]}]. A point:
// {"planner", "budget_bytes", "share"} and either {"infeasible", "smallest_feasible_bytes" (where known)} or
// {"predicted_ms", "predicted_slowdown", "planned_for_bytes" (the budget of the plan: less, where that one is faster),
// "bound_slowdown" (where proven), "knee" (whether its planner's curve bends most there), "stall_ms", "bytes_in",
// "bytes_out", "slow_bytes", "fast_operands": {"inputs", "outputs"} (shares by bytes; both not for policies), "locality":
// {"by_bytes", "by_objects"}, "measured" (where run): {...}, "price" (where asked for, over fast memory for everything):
// {"cost", "performance", "cheapest"}}; those of "no_loss" have {"allowed_loss", "grid_bytes", "budgets_tried"}, too.
nlohmann::json sweep_json(std::span<const experiment::SweptModel> models);

}  // namespace sluice::report
