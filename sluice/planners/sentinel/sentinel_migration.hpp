// What of Sentinel triggers migration: the three ways of figure 13, each with one more of its parts, in the order of the
// words of sentinel's setting `migration`.
#pragma once

#include "sluice/planners/planner.hpp"

namespace sluice {

enum class SentinelMigration {
  kDirect,     // layer by layer: what the next layer uses is brought, what neither uses leaves; nothing is reserved
  kIntervals,  // intervals of the length that equations 1 and 2 give; short-lived tensors compete for room and move
  kAll,        // short-lived tensors have room reserved, and stay (section IV-C)
};

const PlannerSetting& sentinel_migration_setting();

// What the request asks for; all where it says nothing.
SentinelMigration migration_of(const PlanRequest& request);

}  // namespace sluice
