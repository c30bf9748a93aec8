// How hot a unit is in an interval: Sentinel prefetches the hottest first (section IV-D).
#pragma once

#include "sluice/planners/sentinel/interval_schedule.hpp"

namespace sluice::planners {

// How often these ops access the unit's average page; without counts, how many of them use it.
double accesses_within(const ScheduleProblem& problem, std::size_t unit, Interval<graph::OpIndex> ops);

}  // namespace sluice::planners
