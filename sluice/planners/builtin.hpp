// The planners of this folder, one file (or folder) each; registry.cpp lists them.
#pragma once

#include "sluice/planners/planner.hpp"

namespace sluice {

Result<Plan> plan_fast_only(const PlanRequest& request);    // fast_only.cpp
Result<Plan> plan_slow_only(const PlanRequest& request);    // slow_only.cpp
Result<Plan> plan_first_touch(const PlanRequest& request);  // first_touch.cpp
Result<Plan> plan_on_demand(const PlanRequest& request);    // on_demand.cpp
Result<Plan> plan_sentinel(const PlanRequest& request);     // sentinel/sentinel.cpp
Result<std::unique_ptr<PlanSearch>> search_sentinel(const PlanRequest& request);
std::vector<PlannerAddition> sentinel_additions();
Result<Plan> plan_redl(const PlanRequest& request);  // redl/redl.cpp
Result<std::unique_ptr<PlanSearch>> search_redl(const PlanRequest& request);
std::vector<PlannerAddition> redl_additions();

}  // namespace sluice
