#include "sluice/policies/policy_settings.hpp"

#include <fmt/format.h>

#include <utility>

namespace sluice::policies {
namespace {

constexpr std::string_view kSource = "each policy's own: its file says from where";
constexpr double kMostOfACount = 2147483647;
constexpr double kMostBytes = static_cast<double>(Bytes{1} << 53);
constexpr double kMostSeconds = 1e9;

Status set(std::any& tuning, std::string_view text, const WrittenSetting& written) {
  const Setting* setting = policy_settings().find(written.name);
  if (setting == nullptr || !written.value) {
    return bad_input(fmt::format("policy '{}': no setting '{}'; write NAME:SETTING=VALUE with one of {}", text,
                                 written.name, policy_settings().names()));
  }
  const Result<double> value = setting->read(*written.value);
  if (!value.ok()) return bad_input(fmt::format("policy '{}': {}: {}", text, written.name, value.error().message));
  setting->set(tuning, *value);
  return {};
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

bool names_policy(std::string_view text) { return find_policy_of(text) != nullptr; }

std::vector<std::string_view> known_policies() {
  std::vector<std::string_view> known;
  for (const PolicyEntry& each : policies()) known.push_back(each.name);
  return known;
}

Result<ChosenPolicy> choose_policy(std::string_view text, Bytes fast_bytes) {
  const PolicyEntry* entry = find_policy_of(text);
  if (entry == nullptr) return unknown_policy(text);
  const std::vector<WrittenSetting> settings = settings_in(text);
  if (!entry->pages) {
    if (settings.empty()) return ChosenPolicy(ChosenDtr{fast_bytes});
    return bad_input(fmt::format("policy '{}': {} has no settings", text, entry->name));
  }
  std::any tuning = entry->pages->defaults;
  for (const WrittenSetting& each : settings) SLUICE_RETURN_IF_ERROR(set(tuning, text, each));
  return ChosenPolicy(ChosenPages{entry, std::any_cast<PolicyTuning>(tuning), fast_bytes});
}

Result<ChosenPages> choose_pages(std::string_view text, Bytes fast_bytes) {
  SLUICE_ASSIGN(ChosenPolicy chosen, choose_policy(text, fast_bytes));
  if (auto* pages = std::get_if<ChosenPages>(&chosen)) return std::move(*pages);
  return bad_input(fmt::format("policy '{}' has no pages to move: leave it out", text));
}

}  // namespace sluice::policies
