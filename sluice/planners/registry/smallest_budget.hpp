// How little fast memory a planner can do with.
#pragma once

#include "sluice/planners/chosen_planner.hpp"

namespace sluice::planners {

// The smallest budget of the fast tier, to about one per cent, for which the planner finds a plan; the other budgets
// are the request's. It runs the planner about seven times. An unknown name or a planner that cannot plan for this
// machine at all gives make_plan()'s error.
Result<Bytes> smallest_feasible_bytes(std::string_view planner, const PlanRequest& request);
Result<Bytes> smallest_feasible_bytes(const ChosenPlanner& planner, const PlanRequest& request);

// Whether no plan at all can have an op's operands in the fast tier, where they must be.
bool has_op_too_large(const ChosenPlanner& planner, const PlanRequest& request);

}  // namespace sluice::planners
