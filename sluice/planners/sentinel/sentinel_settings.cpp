#include "sluice/planners/sentinel/sentinel_settings.hpp"

namespace sluice::planners {

const Settings& sentinel_settings() {
  using Config = SentinelConfig;
  static const Settings all{
      Config{},
      {setting<&Config::migration>({.name = "migration",
                                    .help = "triggered by the next layer's use, by intervals, or by these with room "
                                            "reserved for short-lived tensors",
                                    .source = "figure 13",
                                    .words = {"direct", "intervals", "all"}}),
       setting<&Config::interval>({"interval", "layers of a migration interval; 0: equations 1 and 2 choose",
                                   "figure 5; equations 1 and 2", 0, 1e6})}};
  return all;
}

}  // namespace sluice::planners
