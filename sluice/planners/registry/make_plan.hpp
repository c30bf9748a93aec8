// From a planner's name, as the user writes it with settings (chosen_planner.hpp), to its plan.
#pragma once

#include "sluice/planners/chosen_planner.hpp"
#include "sluice/planners/plan_search.hpp"

namespace sluice::planners {

// Finds the planner, runs it once, verifies its plan, fills fingerprints, arena bytes and the predicted step time.
// Unknown name: kBadInput listing the known ones. A plan that fails verification is our bug: std::logic_error.
// Where there is no plan, kInfeasible where no plan at all has room for an op's operands, else the planner's error, in its
// own words. Whoever prints it asks for advice (advice.hpp).
Result<plan::Plan> make_plan(std::string_view planner, const PlanRequest& request);
Result<plan::Plan> make_plan(const ChosenPlanner& planner, const PlanRequest& request);

// The planner's search, if it has one and can plan for this request; nullptr if it has none. Unknown name: kBadInput.
Result<std::unique_ptr<PlanSearch>> make_search(std::string_view planner, const PlanRequest& request);

// What make_plan() does with a planner's plan: verifies it and fills in planner, predicted step time and lower bound.
plan::Plan finish_plan(std::string_view planner, const PlanRequest& request, plan::Plan plan);

// Whether ops are to run otherwise than the graph says.
bool reschedules(const PlanRequest& request);

}  // namespace sluice::planners
