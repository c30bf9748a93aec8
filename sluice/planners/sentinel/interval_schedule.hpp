// Turns an interval length into schedules of units: which gaps are cut, and how much room each eviction and prefetch
// gets.
//
// When everything fits, nothing moves. Otherwise room is handed out in this order. Each decision is a reservation that
// must fit the capacity (reservation_table.hpp):
//   1. every op's operands, and short-lived tensors over their whole lives (the reserved region of section IV-C;
//      unless `lending`, over the interval: short_lived_pool.hpp);
//   2. gaps inside one interval, then those that save the most for the time they hold room, stay in the fast tier while
//      `headroom` bytes remain free for migrations. What a gap saves is its two copies at the lanes' prices at the
//      times they would run; with equal prices that means shorter gaps before longer ones;
//   3. eviction tails: room until the copy should be done by the clock ("as soon as the interval does not need it");
//   4. prefetch windows, for the next interval from the start of this one, later where there is no room (case 2);
//   5. cut gaps whose remaining middle fits after all: they stay, and save both copies;
//   6. prefetch windows from before that, as far as the inward lane needs it to carry everything in time (`ahead`).
// A later step never makes an earlier one fail. Steps 3, 4 and 6 may find no room at all; then an op waits.
//
// Where nothing is reserved for short-lived tensors (sentinel_settings.hpp), step 1 has operands only, and steps 2 to 4
// serve all others first.
#pragma once

#include <optional>
#include <vector>

#include "sluice/planners/schedule/gaps.hpp"
#include "sluice/planners/schedule/tensor_schedule.hpp"
#include "sluice/planners/sentinel/forecast.hpp"
#include "sluice/planners/sentinel/schedule_options.hpp"
#include "sluice/profile/access_profile.hpp"

namespace sluice::planners {

struct ScheduleProblem {
  const graph::Graph& graph;
  const graph::Liveness& liveness;
  const std::vector<MovingUnit>& units;  // each with its slow tier
  const profile::CostModel& costs;
  const profile::AccessProfile* accesses =
      nullptr;  // main-memory accesses, or nullptr: ops that use a tensor stand for them
};

struct IntervalSchedule {
  std::vector<TensorSchedule> units;    // by unit
  std::vector<PrefetchKey> prefetches;  // those that may be left out, ascending
};

// Empty when some op's operands alone exceed `capacity`.
std::optional<IntervalSchedule> schedule_intervals(const ScheduleProblem& problem, const ScheduleOptions& options,
                                                   Bytes capacity, const Forecast& forecast);

}  // namespace sluice::planners
