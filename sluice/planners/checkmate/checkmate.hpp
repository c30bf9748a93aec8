// For a planner that falls back to checkmate.
#pragma once

#include "sluice/planners/planner.hpp"

namespace sluice {

PlannerEntry checkmate_planner();

}  // namespace sluice
