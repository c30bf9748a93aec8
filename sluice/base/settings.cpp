#include "sluice/base/settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "sluice/base/as_index.hpp"
#include "sluice/base/parse.hpp"

namespace sluice {
namespace {

constexpr char kBetween = ':';

}  // namespace

Result<double> Setting::read(std::string_view text) const {
  if (!words.empty()) {
    const auto word = std::ranges::find(words, text);
    if (word == words.end()) return bad_input(fmt::format("'{}' is none of {}", text, fmt::join(words, ", ")));
    return static_cast<double>(word - words.begin());
  }
  double value = 0;
  if (size) {
    SLUICE_ASSIGN(const Bytes bytes, parse_bytes(text));
    value = static_cast<double>(bytes);
  } else {
    SLUICE_ASSIGN(value, parse_number(text));
  }
  SLUICE_RETURN_IF_ERROR(check(value));
  return value;
}

Status Setting::check(double value) const {
  if (whole && (value != std::floor(value) || !(value >= least && value <= most))) {
    return bad_input(fmt::format("{} is not a whole number within range, from {:g} to {:g}", value, least, most));
  }
  if (!std::isfinite(value)) return bad_input(fmt::format("{} is not a number", value));
  if (value < least || value > most) {
    return bad_input(fmt::format("{} is not from {:g} to {:g}", value, least, most));
  }
  return {};
}

const Setting* Settings::find(std::string_view name) const {
  const auto found = std::ranges::find(rows, name, &Setting::name);
  return found == rows.end() ? nullptr : &*found;
}

std::string Settings::names() const {
  std::vector<std::string_view> all;
  for (const Setting& each : rows) all.push_back(each.name);
  return fmt::format("{}", fmt::join(all, ", "));
}

std::string range_of(const Setting& setting) {
  if (!setting.words.empty()) return fmt::format("{} one of {}", setting.name, fmt::join(setting.words, ", "));
  return fmt::format("{} from {:g} to {:g}{}", setting.name, setting.least, setting.most,
                     setting.whole ? ", whole" : "");
}

std::string text_of(const Setting& setting, const std::any& config) {
  const double value = setting.get(config);
  if (setting.words.empty()) return fmt::format("{:g}", value);
  return std::string(setting.words[as_index(value)]);
}

std::string_view name_in(std::string_view text) { return text.substr(0, text.find(kBetween)); }

std::vector<WrittenSetting> settings_in(std::string_view text) {
  std::vector<WrittenSetting> written;
  for (std::size_t colon = text.find(kBetween); colon != std::string_view::npos;) {
    const std::size_t end = text.find(kBetween, colon + 1);
    const std::string_view part = text.substr(colon + 1, end == std::string_view::npos ? end : end - colon - 1);
    const std::size_t equals = part.find('=');
    written.push_back({part.substr(0, equals), {}});
    if (equals != std::string_view::npos) written.back().value = part.substr(equals + 1);
    colon = end;
  }
  return written;
}

}  // namespace sluice
