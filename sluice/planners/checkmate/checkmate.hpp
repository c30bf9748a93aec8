// For a planner that falls back to checkmate.
#pragma once

#include "sluice/planners/planner.hpp"

namespace sluice::planners {

PlannerEntry checkmate_planner();

}  // namespace sluice::planners
