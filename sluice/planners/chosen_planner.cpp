#include "sluice/planners/chosen_planner.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"

namespace sluice::planners {
namespace {

constexpr std::string_view kAdditions = "additions";
constexpr char kBetweenAdditions = '+';
constexpr std::string_view kNoAdditions = "none";

template <typename Entries>
std::string names_of(const Entries& entries) {
  std::vector<std::string_view> names;
  for (const auto& entry : entries) names.push_back(entry.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string ranges_of(const Settings& settings) {
  std::vector<std::string> texts;
  for (const Setting& each : settings.rows) texts.push_back(range_of(each));
  return fmt::format("{}", fmt::join(texts, "; "));
}

Error bad_setting(std::string_view text, const PlannerEntry& entry) {
  std::vector<std::string> ways;
  if (!entry.additions.empty()) {
    ways.push_back(fmt::format("{}:additions=none, or {}:additions=A+B with some of {}", entry.name, entry.name,
                               names_of(entry.additions)));
  }
  if (!entry.settings.rows.empty())
    ways.push_back(fmt::format("{}:NAME=VALUE with {}", entry.name, ranges_of(entry.settings)));
  if (ways.empty()) return bad_input(fmt::format("planner '{}': {} has no settings", text, entry.name));
  return bad_input(fmt::format("planner '{}': write {}", text, fmt::join(ways, "; or ")));
}

// "choice+staying" as a set; nothing when one of them is not among the planner's additions.
std::optional<AdditionSet> parse_additions(std::string_view list, const PlannerEntry& entry) {
  AdditionSet chosen = AdditionSet::none();
  if (list == kNoAdditions) return chosen;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(kBetweenAdditions, begin), list.size());
    const auto known = std::ranges::find(entry.additions, list.substr(begin, end - begin), &PlannerAddition::name);
    if (known == entry.additions.end()) return std::nullopt;
    chosen.add(as_index(known - entry.additions.begin()));
    begin = end + 1;
  }
  return chosen;
}

// False when the planner has no such thing, or the value is none of it.
bool take_setting(const WrittenSetting& written, ChosenPlanner& chosen) {
  if (!written.value) return false;
  const PlannerEntry& entry = *chosen.entry;
  if (written.name == kAdditions) {
    const std::optional<AdditionSet> additions = parse_additions(*written.value, entry);
    if (additions) chosen.additions = *additions;
    return additions && !entry.additions.empty();
  }
  const Setting* setting = entry.settings.find(written.name);
  if (setting == nullptr) return false;
  const Result<double> value = setting->read(*written.value);
  if (value.ok()) setting->set(chosen.config, *value);
  return value.ok();
}

}  // namespace

std::string names_of_additions(AdditionSet set, std::span<const PlannerAddition> known) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (set.has(i)) names.push_back(known[i].name);
  }
  return names.empty() ? std::string(kNoAdditions)
                       : fmt::format("{}", fmt::join(names, std::string_view(&kBetweenAdditions, 1)));
}

AdditionSet default_additions(const PlannerEntry& entry) {
  AdditionSet chosen;
  for (std::size_t i = 0; i < entry.additions.size(); ++i) {
    if (!entry.additions[i].by_default) chosen.remove(i);
  }
  return chosen;
}

Result<ChosenPlanner> choose_settings(const PlannerEntry& entry, std::string_view text) {
  ChosenPlanner chosen{&entry, default_additions(entry), entry.settings.defaults};
  for (const WrittenSetting& each : settings_in(text)) {
    if (!take_setting(each, chosen)) return bad_setting(text, entry);
  }
  return chosen;
}

PlanRequest with_settings(PlanRequest request, const ChosenPlanner& chosen) {
  request.additions = chosen.additions;
  request.config = chosen.config;
  return request;
}

bool any_addition(const PlannerEntry& entry, AdditionSet additions, bool PlannerAddition::*does) {
  for (std::size_t i = 0; i < entry.additions.size(); ++i) {
    if (entry.additions[i].*does && additions.has(i)) return true;
  }
  return false;
}

bool chooses_implementations(const PlannerEntry& entry, AdditionSet additions) {
  return entry.chooses_implementations || any_addition(entry, additions, &PlannerAddition::chooses_implementations);
}

bool gives_ops_to_processors(const PlannerEntry& entry, AdditionSet additions) {
  return entry.gives_ops_to_processors || any_addition(entry, additions, &PlannerAddition::gives_ops_to_processors);
}

}  // namespace sluice::planners
