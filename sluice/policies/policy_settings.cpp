#include "sluice/policies/policy_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <limits>

#include "sluice/base/parse.hpp"
#include "sluice/policies/dtr/dtr.hpp"

namespace sluice {
namespace {

constexpr char kBetween = ':';

Result<double> parse_size(std::string_view text) {
  SLUICE_ASSIGN(const Bytes bytes, parse_bytes(text));
  return static_cast<double>(bytes);
}

Status assign(Seconds& setting, double value) {
  if (!std::isfinite(value)) return Error{ErrorCode::kBadInput, fmt::format("{} is not a number", value)};
  setting = value;
  return {};
}

template <std::integral Whole>
Status assign(Whole& setting, double value) {
  // Beyond 2^53 a double does not hold every whole number.
  constexpr auto kMost = static_cast<double>(std::min<std::int64_t>(std::numeric_limits<Whole>::max(), 1LL << 53));
  if (!(std::abs(value) <= kMost) || value != std::floor(value)) {
    return Error{ErrorCode::kBadInput, fmt::format("{} is not a whole number within range", value)};
  }
  setting = static_cast<Whole>(value);
  return {};
}

struct Setting {
  std::string_view name;
  Result<double> (*parse)(std::string_view);
  Status (*set)(PolicyTuning&, double);
};

constexpr std::array kSettings{
    Setting{"page", parse_size, [](PolicyTuning& t, double value) { return assign(t.page_bytes, value); }},
    Setting{"fault-bytes", parse_size, [](PolicyTuning& t, double value) { return assign(t.fault_bytes, value); }},
    Setting{"period", parse_number, [](PolicyTuning& t, double value) { return assign(t.scan_period, value); }},
    Setting{"fault", parse_number, [](PolicyTuning& t, double value) { return assign(t.fault_seconds, value); }},
    Setting{"migration", parse_number,
            [](PolicyTuning& t, double value) { return assign(t.migration_seconds, value); }},
    Setting{"threads", parse_number, [](PolicyTuning& t, double value) { return assign(t.copy_threads, value); }},
    Setting{"concurrent", parse_number,
            [](PolicyTuning& t, double value) { return assign(t.concurrent_migrations, value); }},
};

const Setting* find_setting(std::string_view name) {
  const auto found = std::ranges::find(kSettings, name, &Setting::name);
  return found == kSettings.end() ? nullptr : &*found;
}

std::string known_settings() {
  std::string known;
  for (const Setting& each : kSettings) known += fmt::format("{}{}", known.empty() ? "" : ", ", each.name);
  return known;
}

Result<PolicySetting> parse_setting(std::string_view text, std::string_view part) {
  const std::size_t equals = part.find('=');
  const std::string_view name = part.substr(0, equals);
  const Setting* setting = find_setting(name);
  if (setting == nullptr || equals == std::string_view::npos) {
    return Error{ErrorCode::kBadInput,
                 fmt::format("policy '{}': no setting '{}'; write NAME:SETTING=VALUE with one of {}", text, name,
                             known_settings())};
  }
  const Result<double> value = setting->parse(part.substr(equals + 1));
  PolicyTuning unused;
  const Status fits = value.ok() ? setting->set(unused, *value) : Status(value.error());
  if (fits.ok()) return PolicySetting{std::string(name), *value};
  return Error{ErrorCode::kBadInput, fmt::format("policy '{}': {}: {}", text, name, fits.error().message)};
}

Error error_at(std::string_view place, const std::string& message) {
  return {ErrorCode::kBadInput, fmt::format("/policy/{}: {}", place, message)};
}

}  // namespace

const PolicyEntry* find_policy_of(std::string_view text) { return find_policy(text.substr(0, text.find(kBetween))); }

bool names_policy(std::string_view text) {
  return find_policy_of(text) != nullptr || text.substr(0, text.find(kBetween)) == kDtrName;
}

std::vector<std::string_view> known_policies() {
  std::vector<std::string_view> known;
  for (const PolicyEntry& each : policies()) known.push_back(each.name);
  known.push_back(kDtrName);
  return known;
}

bool is_dtr(const PolicyRequest& request) { return request.name == kDtrName; }

Result<PolicyRequest> parse_policy(std::string_view text, Bytes fast_bytes) {
  if (text == kDtrName) return PolicyRequest{std::string(kDtrName), {}, fast_bytes};
  if (names_policy(text) && find_policy_of(text) == nullptr) {
    return bad_input(fmt::format("policy '{}': {} has no settings", text, kDtrName));
  }
  const PolicyEntry* entry = find_policy_of(text);
  if (entry == nullptr) return unknown_policy(text);
  PolicyRequest request{std::string(entry->name), {}, fast_bytes};
  std::size_t end = text.find(kBetween);
  while (end != std::string_view::npos) {
    const std::size_t begin = end + 1;
    end = text.find(kBetween, begin);
    const std::string_view part = text.substr(begin, end == std::string_view::npos ? end : end - begin);
    SLUICE_ASSIGN(PolicySetting setting, parse_setting(text, part));
    request.settings.push_back(std::move(setting));
  }
  return request;
}

Result<ChosenPolicy> choose_policy(const PolicyRequest& request) {
  ChosenPolicy chosen{.entry = find_policy(request.name)};
  if (chosen.entry == nullptr) return error_at("name", unknown_policy(request.name).message);
  chosen.tuning = chosen.entry->defaults;
  for (std::size_t i = 0; i < request.settings.size(); ++i) {
    const PolicySetting& wanted = request.settings[i];
    const Setting* setting = find_setting(wanted.name);
    if (setting == nullptr) {
      return error_at(fmt::format("settings/{}/name", i),
                      fmt::format("no setting '{}'; there are {}", wanted.name, known_settings()));
    }
    const Status set = setting->set(chosen.tuning, wanted.value);
    if (!set.ok()) return error_at(fmt::format("settings/{}/value", i), set.error().message);
  }
  return chosen;
}

}  // namespace sluice
