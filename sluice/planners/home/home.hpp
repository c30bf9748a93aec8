// For a planner that holds its plans against home's.
#pragma once

#include "sluice/planners/planner.hpp"

namespace sluice::planners {

PlannerEntry home_planner();

}  // namespace sluice::planners
