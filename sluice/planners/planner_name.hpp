// A planner as the user writes it: its name, which of our additions to the published algorithm it uses, and settings
// that differ from what they are otherwise.
//
//   sentinel                             all of them, but for those that must be named (PlannerAddition::by_default)
//   sentinel:additions=none              as published
//   sentinel:additions=choice+staying    with these two
//   autotm-sync:gap=0.001:seconds=300    settings (PlannerEntry::settings): numbers,
//   sentinel:migration=direct            or words
#pragma once

#include "sluice/planners/planner.hpp"

namespace sluice {

struct ChosenPlanner {
  const PlannerEntry* entry = nullptr;
  AdditionSet additions;
  std::vector<double> settings;  // by PlannerEntry::settings
};

// kBadInput for an unknown planner, setting or addition, or a value out of range; the message lists what there is.
Result<ChosenPlanner> choose_planner(std::string_view text);

// Whether the planner, so named, looks at Profile::encodings. False where there is no such planner.
bool wants_encodings(std::string_view text);

// Whether the planner, so named, looks at Profile::choices for other implementations. False where there is no such
// planner.
bool chooses_implementations(std::string_view text);
bool chooses_implementations(const PlannerEntry& entry, AdditionSet additions);
// Whether it gives ops to other processors by itself.
bool gives_ops_to_processors(const PlannerEntry& entry, AdditionSet additions);

}  // namespace sluice
