#include "sluice/planners/planner_name.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "sluice/base/closest_name.hpp"
#include "sluice/base/parse.hpp"

namespace sluice {
namespace {

constexpr char kBeforeSettings = ':';
constexpr std::string_view kAdditions = "additions";
constexpr char kBetweenAdditions = '+';
constexpr std::string_view kNoAdditions = "none";

std::string_view name_in(std::string_view text) { return text.substr(0, text.find(kBeforeSettings)); }

template <typename Entries>
std::string names_of(const Entries& entries) {
  std::vector<std::string_view> names;
  for (const auto& entry : entries) names.push_back(entry.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

Error unknown_planner(std::string_view text) {
  std::vector<std::string_view> known;
  for (const PlannerEntry& entry : planners()) known.push_back(entry.name);
  const std::string_view name = name_in(text);
  return bad_input(
      fmt::format("unknown planner '{}'{}planners: {}", name, suggest_name(name, known), fmt::join(known, ", ")));
}

// "gap from 0 to 1" or "migration one of direct, all".
std::string range_of(const PlannerSetting& setting) {
  if (!setting.words.empty()) return fmt::format("{} one of {}", setting.name, fmt::join(setting.words, ", "));
  return fmt::format("{} from {:g} to {:g}{}", setting.name, setting.least, setting.most,
                     setting.whole ? ", whole" : "");
}

std::string ranges_of(const std::vector<PlannerSetting>& settings) {
  std::vector<std::string> texts;
  for (const PlannerSetting& each : settings) texts.push_back(range_of(each));
  return fmt::format("{}", fmt::join(texts, "; "));
}

Error bad_setting(std::string_view text, const PlannerEntry& entry) {
  std::vector<std::string> ways;
  if (!entry.additions.empty()) {
    ways.push_back(fmt::format("{}:additions=none, or {}:additions=A+B with some of {}", entry.name, entry.name,
                               names_of(entry.additions)));
  }
  if (!entry.settings.empty())
    ways.push_back(fmt::format("{}:NAME=VALUE with {}", entry.name, ranges_of(entry.settings)));
  if (ways.empty()) ways.push_back(fmt::format("{} has no settings", entry.name));
  return {ErrorCode::kBadInput,
          fmt::format("planner '{}': {}{}", text, entry.additions.empty() && entry.settings.empty() ? "" : "write ",
                      fmt::join(ways, "; or "))};
}

// "choice+staying" as a set; nothing when one of them is not among the planner's additions.
std::optional<AdditionSet> parse_additions(std::string_view list, const PlannerEntry& entry) {
  AdditionSet chosen = AdditionSet::none();
  if (list == kNoAdditions) return chosen;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(kBetweenAdditions, begin), list.size());
    const auto known = std::ranges::find(entry.additions, list.substr(begin, end - begin), &PlannerAddition::name);
    if (known == entry.additions.end()) return std::nullopt;
    chosen.add(static_cast<std::size_t>(known - entry.additions.begin()));
    begin = end + 1;
  }
  return chosen;
}

// Nothing where the text is no value of the setting.
std::optional<double> parse_value(std::string_view text, const PlannerSetting& setting) {
  if (!setting.words.empty()) {
    const auto word = std::ranges::find(setting.words, text);
    if (word == setting.words.end()) return std::nullopt;
    return static_cast<double>(word - setting.words.begin());
  }
  const Result<double> number = parse_number(text);
  if (!number.ok() || *number < setting.least || *number > setting.most) return std::nullopt;
  if (setting.whole && *number != std::floor(*number)) return std::nullopt;
  return *number;
}

// "additions=A+B" or "NAME=VALUE"; false when the planner has no such thing, or the value is out of range.
bool take_setting(std::string_view part, ChosenPlanner& chosen) {
  const std::size_t equals = part.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view name = part.substr(0, equals);
  const std::string_view value = part.substr(equals + 1);
  const PlannerEntry& entry = *chosen.entry;
  if (name == kAdditions) {
    const std::optional<AdditionSet> additions = parse_additions(value, entry);
    if (additions) chosen.additions = *additions;
    return additions && !entry.additions.empty();
  }
  const auto setting = std::ranges::find(entry.settings, name, &PlannerSetting::name);
  if (setting == entry.settings.end()) return false;
  const std::optional<double> parsed = parse_value(value, *setting);
  if (parsed) chosen.settings[static_cast<std::size_t>(setting - entry.settings.begin())] = *parsed;
  return parsed.has_value();
}

AdditionSet default_additions(const PlannerEntry& entry) {
  AdditionSet chosen;
  for (std::size_t i = 0; i < entry.additions.size(); ++i) {
    if (!entry.additions[i].by_default) chosen.remove(i);
  }
  return chosen;
}

// Whether one that is on does so.
bool any_addition(const PlannerEntry& entry, AdditionSet additions, bool PlannerAddition::*does) {
  for (std::size_t i = 0; i < entry.additions.size(); ++i) {
    if (entry.additions[i].*does && additions.has(i)) return true;
  }
  return false;
}

}  // namespace

const PlannerEntry* find_planner(std::string_view text) {
  const auto found = std::ranges::find(planners(), name_in(text), &PlannerEntry::name);
  return found == planners().end() ? nullptr : &*found;
}

std::string names_of_additions(AdditionSet set, std::span<const PlannerAddition> known) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (set.has(i)) names.push_back(known[i].name);
  }
  return names.empty() ? std::string(kNoAdditions)
                       : fmt::format("{}", fmt::join(names, std::string_view(&kBetweenAdditions, 1)));
}

Result<ChosenPlanner> choose_planner(std::string_view text) {
  const PlannerEntry* entry = find_planner(text);
  if (entry == nullptr) return unknown_planner(text);
  ChosenPlanner chosen{entry, default_additions(*entry), {}};
  for (const PlannerSetting& each : entry->settings) chosen.settings.push_back(each.value);
  for (std::size_t colon = text.find(kBeforeSettings); colon != std::string_view::npos;) {
    const std::size_t end = text.find(kBeforeSettings, colon + 1);
    if (!take_setting(text.substr(colon + 1, end == std::string_view::npos ? end : end - colon - 1), chosen)) {
      return bad_setting(text, *entry);
    }
    colon = end;
  }
  return chosen;
}

bool wants_encodings(std::string_view text) {
  const Result<ChosenPlanner> chosen = choose_planner(text);
  return chosen.ok() && any_addition(*chosen->entry, chosen->additions, &PlannerAddition::wants_encodings);
}

bool chooses_implementations(const PlannerEntry& entry, AdditionSet additions) {
  return entry.chooses_implementations || any_addition(entry, additions, &PlannerAddition::chooses_implementations);
}

bool gives_ops_to_processors(const PlannerEntry& entry, AdditionSet additions) {
  return entry.gives_ops_to_processors || any_addition(entry, additions, &PlannerAddition::gives_ops_to_processors);
}

bool chooses_implementations(std::string_view text) {
  const Result<ChosenPlanner> chosen = choose_planner(text);
  return chosen.ok() && chooses_implementations(*chosen->entry, chosen->additions);
}

}  // namespace sluice
