// What Sentinel's candidates differ by (interval_schedule.hpp says what the steps are).
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "sluice/planners/schedule/gaps.hpp"
#include "sluice/planners/schedule/intervals.hpp"
#include "sluice/planners/schedule/tensor_schedule.hpp"
#include "sluice/planners/sentinel/sentinel_settings.hpp"

namespace sluice::planners {

enum class PrefetchOrder { kHottestFirst, kSoonestFirst };

struct ScheduleOptions {
  SentinelMigration migration = SentinelMigration::kAll;
  int interval_length = 1;
  bool staying = true;  // off: step 2 keeps only what this interval or the next one needs, and there is no step 5
  Bytes headroom = 0;   // kept free by step 2
  Bytes small_bytes = kSmallTensorBytes;  // smaller units never move
  bool move_short_lived = false;          // although room for them would be reserved
  bool lending = true;                    // until short-lived tensors are made, others may have their room
  bool ahead = true;                      // step 6
  PrefetchOrder order = PrefetchOrder::kHottestFirst;
  // What another candidate's schedule took of the slow tiers, by unit, to go by in placing units in several of them;
  // nothing: first come, first served.
  std::shared_ptr<const std::vector<SlowDemand>> demands;
  std::set<PrefetchKey> left_out;  // prefetches not made: the uses find the tensor in the slow tier (case 3)
};

inline bool short_lived_move(const ScheduleOptions& options) {
  return options.move_short_lived || options.migration != SentinelMigration::kAll;
}

}  // namespace sluice::planners
