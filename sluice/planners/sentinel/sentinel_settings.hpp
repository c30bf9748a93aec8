// What a user may set of sentinel.
#pragma once

#include "sluice/base/settings.hpp"

namespace sluice::planners {

// What triggers migration: the three ways of figure 13, each with one more of its parts, in the order of their words.
enum class SentinelMigration {
  kDirect,     // layer by layer: what the next layer uses is brought, what neither uses leaves; nothing is reserved
  kIntervals,  // intervals of the length that equations 1 and 2 give; short-lived tensors compete for room and move
  kAll,        // short-lived tensors have room reserved, and stay (section IV-C)
};

struct SentinelConfig {
  SentinelMigration migration = SentinelMigration::kAll;
  int interval = 0;  // the length of all intervals, in layer spans; 0: equations 1 and 2 choose
};

const Settings& sentinel_settings();

}  // namespace sluice::planners
