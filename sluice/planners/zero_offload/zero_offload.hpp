// For a planner that holds its plans against zero-offload's.
#pragma once

#include "sluice/planners/planner.hpp"

namespace sluice::planners {

PlannerEntry zero_offload_planner();

}  // namespace sluice::planners
