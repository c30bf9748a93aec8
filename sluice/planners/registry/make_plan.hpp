// From a planner's name, as the user writes it with settings (chosen_planner.hpp), to its plan.
#pragma once

#include "sluice/planners/plan_search.hpp"

namespace sluice {

// Finds the planner, runs it, verifies its plan, fills fingerprints, arena bytes and the predicted step time.
// Unknown name: kBadInput listing the known ones. A plan that fails verification is our bug: std::logic_error.
Result<Plan> make_plan(std::string_view planner, const PlanRequest& request);

// The planner's search, if it has one and can plan for this request; nullptr if it has none. Unknown name: kBadInput.
Result<std::unique_ptr<PlanSearch>> make_search(std::string_view planner, const PlanRequest& request);

// What make_plan() does with a planner's plan: verifies it and fills in planner, predicted step time and lower bound.
Plan finish_plan(std::string_view planner, const PlanRequest& request, Plan plan);

// The smallest budget of the fast tier, to about one per cent, for which the planner finds a plan; the other budgets
// are the request's. It runs the planner about seven times. An unknown name or a planner that cannot plan for this
// machine at all gives make_plan()'s error.
Result<Bytes> smallest_feasible_bytes(std::string_view planner, const PlanRequest& request);

}  // namespace sluice
