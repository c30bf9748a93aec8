// ReDL's migrations for one length of the migration period (§III-C and D): from a placement to schedules.
//
// Fast memory is handed out in this order. Each decision is a reservation that must fit at every op it covers:
//   1. what never moves, and what cannot be used in place;
//   2. Idle Migration: short-lived units, over their whole lives. Where there is too little room, the units of least
//      liveness are the victims: they are made and used in the slow tier;
//   3. long-lived stretches and gaps that the placement has in fast memory, those that save most for their room first;
//   4. room for what must be written back, until its copy should be done;
//   5. Dynamic Migration, period by period: what a period requests is brought from the start of the period before it,
//      or later where there is no room yet. What would come too late to be worth waiting for is used in place (DSMA).
//      What the placement left in the slow tier is brought too where there is room and time to spare;
//   6. what was to leave, but whose room nobody took in the meantime, stays after all.
// In tiers that ops cannot address, nothing is used in place: ops wait for what comes late.
#pragma once

#include <optional>
#include <vector>

#include "sluice/planners/redl/placement_ilp.hpp"
#include "sluice/planners/schedule/tensor_schedule.hpp"

namespace sluice::planners {

struct PeriodSchedule {
  std::vector<TensorSchedule> units;  // by unit
  int brought = 0;                    // stretches that a migration brings
  int late_in_place = 0;              // DSMA: would have come too late, or found no room
  int placed_in_place = 0;            // left in the slow tier by the placement
};

// `length`: layers per period (spans of liveness.hpp). Empty when what must be in the fast tier exceeds `capacity`.
std::optional<PeriodSchedule> schedule_periods(const RedlProblem& problem, const std::vector<StretchedUnit>& units,
                                               const Placement& placement, int length, Bytes capacity);

}  // namespace sluice::planners
