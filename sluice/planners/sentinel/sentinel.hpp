// For planners that have sentinel place tensors, in a step of their own.
#pragma once

#include "sluice/planners/planner.hpp"

namespace sluice::planners {

PlannerEntry sentinel_planner();

}  // namespace sluice::planners
