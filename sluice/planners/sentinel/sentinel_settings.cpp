#include "sluice/planners/sentinel/sentinel_settings.hpp"

namespace sluice {
namespace {

// In the order of sentinel_settings().
enum class SentinelSetting { kMigration, kInterval };

double value_of(SentinelSetting which, const PlanRequest& request) {
  const auto index = static_cast<std::size_t>(which);
  return request.settings.empty() ? sentinel_settings()[index].value : request.settings[index];
}

}  // namespace

const std::vector<PlannerSetting>& sentinel_settings() {
  static const std::vector<PlannerSetting> all{
      {.name = "migration",
       .summary =
           "triggered by the next layer's use, by intervals, or by these with room reserved for short-lived tensors",
       .value = static_cast<double>(SentinelMigration::kAll),
       .words = {"direct", "intervals", "all"}},
      {.name = "interval",
       .summary = "layers of a migration interval; 0: equations 1 and 2 choose",
       .value = 0,
       .least = 0,
       .most = 1e6,
       .whole = true}};
  return all;
}

SentinelMigration migration_of(const PlanRequest& request) {
  return static_cast<SentinelMigration>(static_cast<int>(value_of(SentinelSetting::kMigration, request)));
}

std::string_view name_of(SentinelMigration migration) {
  return sentinel_settings().front().words[static_cast<std::size_t>(migration)];
}

int interval_length_of(const PlanRequest& request) {
  return static_cast<int>(value_of(SentinelSetting::kInterval, request));
}

}  // namespace sluice
