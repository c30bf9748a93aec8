// What would help where there is no plan, for whoever prints the error.
#pragma once

#include "sluice/planners/chosen_planner.hpp"

namespace sluice::planners {

// `why`, make_plan()'s error for this request, with what would help in its words and bytes: the smallest budget that
// works, the op that is the bottleneck, a slow tier that is full, kernels with smaller workspaces. Its code stays, unless
// the planner cannot plan at all, whatever the budget. Errors about anything but room (wants_more_room()) stay as they are.
//
// It runs the planner up to eighteen times.
Error advised(std::string_view planner, const PlanRequest& request, const Error& why);
Error advised(const ChosenPlanner& planner, const PlanRequest& request, const Error& why);

}  // namespace sluice::planners
