#include "sluice/planners/sentinel/sentinel_migration.hpp"

namespace sluice {

const PlannerSetting& sentinel_migration_setting() {
  static const PlannerSetting setting{.name = "migration",
                                      .summary =
                                          "triggered by the next layer's use, by intervals, or by these with "
                                          "room reserved for short-lived tensors",
                                      .value = static_cast<double>(SentinelMigration::kAll),
                                      .words = {"direct", "intervals", "all"}};
  return setting;
}

SentinelMigration migration_of(const PlanRequest& request) {
  const double value = request.settings.empty() ? sentinel_migration_setting().value : request.settings.front();
  return static_cast<SentinelMigration>(static_cast<int>(value));
}

}  // namespace sluice
