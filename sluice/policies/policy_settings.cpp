#include "sluice/policies/policy_settings.hpp"

#include <fmt/format.h>

#include "sluice/policies/dtr/dtr.hpp"

namespace sluice::policies {
namespace {

constexpr std::string_view kSource = "each policy's own: its file says from where";
constexpr double kMostOfACount = 2147483647;
constexpr double kMostBytes = static_cast<double>(Bytes{1} << 53);
constexpr double kMostSeconds = 1e9;

Result<plan::PolicySetting> parse_setting(std::string_view text, const WrittenSetting& written) {
  const Setting* setting = policy_settings().find(written.name);
  if (setting == nullptr || !written.value) {
    return bad_input(fmt::format("policy '{}': no setting '{}'; write NAME:SETTING=VALUE with one of {}", text,
                                 written.name, policy_settings().names()));
  }
  const Result<double> value = setting->read(*written.value);
  if (value.ok()) return plan::PolicySetting{std::string(written.name), *value};
  return bad_input(fmt::format("policy '{}': {}: {}", text, written.name, value.error().message));
}

Error error_at(std::string_view place, const std::string& message) {
  return {ErrorCode::kBadInput, fmt::format("/policy/{}: {}", place, message)};
}

}  // namespace

const Settings& policy_settings() {
  using Tuning = PolicyTuning;
  static const Settings all{
      Tuning{},
      {setting<&Tuning::page_bytes>({.name = "page",
                                     .help = "unit of placement; of a hardware cache its line",
                                     .source = kSource,
                                     .least = 1,
                                     .most = kMostBytes,
                                     .size = true}),
       setting<&Tuning::fault_bytes>({.name = "fault-bytes",
                                      .help = "adjacent missing bytes that one fault brings, at most",
                                      .source = kSource,
                                      .most = kMostBytes,
                                      .size = true}),
       setting<&Tuning::scan_period>(
           {"period", "seconds between two passes over the accessed bits", kSource, 0, kMostSeconds}),
       setting<&Tuning::fault_seconds>({"fault", "seconds to handle a fault", kSource, 0, kMostSeconds}),
       setting<&Tuning::migration_seconds>(
           {"migration", "seconds to unmap and map again, for each batch", kSource, 0, kMostSeconds}),
       setting<&Tuning::copy_threads>({"threads", "that copy pages", kSource, 1, kMostOfACount}),
       setting<&Tuning::concurrent_migrations>(
           {"concurrent", "pages unmapped, copied and mapped together", kSource, 1, kMostOfACount})}};
  return all;
}

const PolicyEntry* find_policy_of(std::string_view text) { return find_policy(name_in(text)); }

bool names_policy(std::string_view text) { return find_policy_of(text) != nullptr || name_in(text) == kDtrName; }

std::vector<std::string_view> known_policies() {
  std::vector<std::string_view> known;
  for (const PolicyEntry& each : policies()) known.push_back(each.name);
  known.push_back(kDtrName);
  return known;
}

bool is_dtr(const plan::PolicyRequest& request) { return request.name == kDtrName; }

Result<plan::PolicyRequest> parse_policy(std::string_view text, Bytes fast_bytes) {
  if (text == kDtrName) return plan::PolicyRequest{std::string(kDtrName), {}, fast_bytes};
  if (names_policy(text) && find_policy_of(text) == nullptr) {
    return bad_input(fmt::format("policy '{}': {} has no settings", text, kDtrName));
  }
  const PolicyEntry* entry = find_policy_of(text);
  if (entry == nullptr) return unknown_policy(text);
  plan::PolicyRequest request{std::string(entry->name), {}, fast_bytes};
  for (const WrittenSetting& each : settings_in(text)) {
    SLUICE_ASSIGN(plan::PolicySetting setting, parse_setting(text, each));
    request.settings.push_back(std::move(setting));
  }
  return request;
}

Result<ChosenPolicy> choose_policy(const plan::PolicyRequest& request) {
  ChosenPolicy chosen{.entry = find_policy(request.name)};
  if (chosen.entry == nullptr) return error_at("name", unknown_policy(request.name).message);
  std::any tuning = chosen.entry->defaults;
  for (std::size_t i = 0; i < request.settings.size(); ++i) {
    const plan::PolicySetting& wanted = request.settings[i];
    const Setting* setting = policy_settings().find(wanted.name);
    if (setting == nullptr) {
      return error_at(fmt::format("settings/{}/name", i),
                      fmt::format("no setting '{}'; there are {}", wanted.name, policy_settings().names()));
    }
    const Status fits = setting->check(wanted.value);
    if (!fits.ok()) return error_at(fmt::format("settings/{}/value", i), fits.error().message);
    setting->set(tuning, wanted.value);
  }
  chosen.tuning = std::any_cast<PolicyTuning>(tuning);
  return chosen;
}

}  // namespace sluice::policies
