#include "sluice/policies/policy_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace sluice {
namespace {

constexpr char kBetween = ':';

template <typename Number>
Result<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool finite = std::isfinite(static_cast<double>(number));
  if (failure == std::errc() && end == text.data() + text.size() && finite) return number;
  return Error{ErrorCode::kBadInput, fmt::format("'{}' is not a number", text)};
}

template <typename Value>
Status assign(Value& setting, Result<Value> value) {
  if (value.ok()) setting = *value;
  return value.ok() ? Status() : Status(value.error());
}

struct Setting {
  std::string_view key;
  Status (*set)(PolicyTuning&, std::string_view);
};

constexpr std::array kSettings{
    Setting{"page", [](PolicyTuning& t, std::string_view text) { return assign(t.page_bytes, parse_bytes(text)); }},
    Setting{"fault-bytes",
            [](PolicyTuning& t, std::string_view text) { return assign(t.fault_bytes, parse_bytes(text)); }},
    Setting{"period",
            [](PolicyTuning& t, std::string_view text) { return assign(t.scan_period, parse_number<double>(text)); }},
    Setting{"fault",
            [](PolicyTuning& t, std::string_view text) { return assign(t.fault_seconds, parse_number<double>(text)); }},
    Setting{"migration", [](PolicyTuning& t,
                            std::string_view text) { return assign(t.migration_seconds, parse_number<double>(text)); }},
    Setting{"threads",
            [](PolicyTuning& t, std::string_view text) { return assign(t.copy_threads, parse_number<int>(text)); }},
    Setting{"concurrent",
            [](PolicyTuning& t, std::string_view text) {
              return assign(t.concurrent_migrations, parse_number<int>(text));
            }},
};

Error unknown_setting(std::string_view text, std::string_view key) {
  std::string known;
  for (const Setting& each : kSettings) known += fmt::format("{}{}", known.empty() ? "" : ", ", each.key);
  return {ErrorCode::kBadInput,
          fmt::format("policy '{}': no setting '{}'; write NAME:SETTING=VALUE with one of {}", text, key, known)};
}

Status apply(std::string_view text, std::string_view setting, PolicyTuning& tuning) {
  const std::size_t equals = setting.find('=');
  const std::string_view key = setting.substr(0, equals);
  const auto known = std::ranges::find(kSettings, key, &Setting::key);
  if (known == kSettings.end() || equals == std::string_view::npos) return unknown_setting(text, key);
  const Status status = known->set(tuning, setting.substr(equals + 1));
  if (status.ok()) return {};
  return Error{ErrorCode::kBadInput, fmt::format("policy '{}': {}: {}", text, key, status.error().message)};
}

}  // namespace

const PolicyEntry* find_policy_of(std::string_view text) { return find_policy(text.substr(0, text.find(kBetween))); }

Result<ChosenPolicy> choose_policy(std::string_view text) {
  ChosenPolicy chosen{.entry = find_policy_of(text)};
  if (chosen.entry == nullptr) return unknown_policy(text);
  chosen.tuning = chosen.entry->defaults;
  std::size_t end = text.find(kBetween);
  while (end != std::string_view::npos) {
    const std::size_t begin = end + 1;
    end = text.find(kBetween, begin);
    SLUICE_RETURN_IF_ERROR(
        apply(text, text.substr(begin, end == std::string_view::npos ? end : end - begin), chosen.tuning));
  }
  return chosen;
}

}  // namespace sluice
