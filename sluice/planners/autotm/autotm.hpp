// For a planner that holds its plans against AutoTM's.
#pragma once

#include "sluice/planners/planner.hpp"

namespace sluice::planners {

PlannerEntry autotm_sync_planner();

}  // namespace sluice::planners
