// The space for short-lived tensors as published (Sentinel section IV-C): reserved when an interval begins, as large as
// the most that they take at once in the interval, and given back as soon as the rest of the interval needs less.
//
//   op of the interval      0   1   2   3   4        short-lived tensors take   1   4   2   3   0
//   the space is            4   4   3   3   0        of which are idle          3   0   1   0   0
#pragma once

#include <vector>

#include "sluice/planners/schedule/intervals.hpp"
#include "sluice/planners/schedule/moving_units.hpp"
#include "sluice/planners/schedule/reservation_table.hpp"

namespace sluice::planners {

// Reserves, at each op, what of the space no short-lived tensor takes then. O(ops + units).
void reserve_idle_pool(const std::vector<MovingUnit>& units, const IntervalCut& cut, ReservationTable& table);

}  // namespace sluice::planners
