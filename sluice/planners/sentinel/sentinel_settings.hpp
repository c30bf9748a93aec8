// What a user may set of sentinel: `migration`, what triggers it (the three ways of figure 13, each with one more of its
// parts, in the order of the setting's words), and `interval`, how many layers a migration interval has (figure 5).
#pragma once

#include <vector>

#include "sluice/planners/planner.hpp"

namespace sluice {

enum class SentinelMigration {
  kDirect,     // layer by layer: what the next layer uses is brought, what neither uses leaves; nothing is reserved
  kIntervals,  // intervals of the length that equations 1 and 2 give; short-lived tensors compete for room and move
  kAll,        // short-lived tensors have room reserved, and stay (section IV-C)
};

const std::vector<PlannerSetting>& sentinel_settings();

// What the request asks for; all where it says nothing.
SentinelMigration migration_of(const PlanRequest& request);
std::string_view name_of(SentinelMigration migration);

// The length of all intervals, in layer spans; 0, also where the request says nothing: equations 1 and 2 choose.
int interval_length_of(const PlanRequest& request);

}  // namespace sluice
