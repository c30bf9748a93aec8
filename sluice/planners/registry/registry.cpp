#include "sluice/planners/registry/registry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sluice/base/text/closest_name.hpp"

namespace sluice::planners {

// A line for each planner, in the order of --help. NAME_planner() is defined in the planner's own file.
#define SLUICE_PLANNERS(entry)                                                                                       \
  entry(fast_only) entry(slow_only) entry(first_touch) entry(on_demand) entry(sentinel) entry(redl) entry(chen_sqrt) \
      entry(deferred_updates) entry(kernel_choice) entry(vdnn) entry(superneurons) entry(capuchin) entry(home)       \
          entry(l2l) entry(swapadvisor) entry(autotm_static) entry(autotm_sync) entry(autotm_async) entry(checkmate) \
              entry(zero_offload) entry(joint)

#define SLUICE_DECLARE_PLANNER(name) PlannerEntry name##_planner();
SLUICE_PLANNERS(SLUICE_DECLARE_PLANNER)

namespace {

Error unknown_planner(std::string_view text) {
  std::vector<std::string_view> known;
  for (const PlannerEntry& entry : planners()) known.push_back(entry.name);
  const std::string_view name = name_in(text);
  return bad_input(
      fmt::format("unknown planner '{}'{}planners: {}", name, suggest_name(name, known), fmt::join(known, ", ")));
}

}  // namespace

#define SLUICE_CALL_PLANNER(name) name##_planner(),
const std::vector<PlannerEntry>& planners() {
  static const std::vector<PlannerEntry> table{SLUICE_PLANNERS(SLUICE_CALL_PLANNER)};
  return table;
}

const PlannerEntry* find_planner(std::string_view text) {
  const auto found = std::ranges::find(planners(), name_in(text), &PlannerEntry::name);
  return found == planners().end() ? nullptr : &*found;
}

Result<ChosenPlanner> choose_planner(std::string_view text) {
  const PlannerEntry* entry = find_planner(text);
  return entry == nullptr ? unknown_planner(text) : choose_settings(*entry, text);
}

bool wants_encodings(std::string_view text) {
  const Result<ChosenPlanner> chosen = choose_planner(text);
  return chosen.ok() && any_addition(*chosen->entry, chosen->additions, &PlannerAddition::wants_encodings);
}

bool chooses_implementations(std::string_view text) {
  const Result<ChosenPlanner> chosen = choose_planner(text);
  return chosen.ok() && chooses_implementations(*chosen->entry, chosen->additions);
}

}  // namespace sluice::planners
