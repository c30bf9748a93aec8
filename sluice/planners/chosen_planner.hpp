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

namespace sluice::planners {

struct ChosenPlanner {
  const PlannerEntry* entry = nullptr;
  AdditionSet additions;
  std::any config;  // as PlanRequest has it
};

// `text`: the entry's name, with or without settings; `entry` must outlive what is returned. kBadInput for an unknown
// setting or addition, or a value out of range; the message lists what there is.
Result<ChosenPlanner> choose_settings(const PlannerEntry& entry, std::string_view text);

// Those that are on where nobody names any.
AdditionSet default_additions(const PlannerEntry& entry);

PlanRequest with_settings(PlanRequest request, const ChosenPlanner& chosen);

// Whether an addition that is on does so.
bool any_addition(const PlannerEntry& entry, AdditionSet additions, bool PlannerAddition::*does);

// Whether the planner, with these additions, looks at Profile::choices for other implementations, and gives ops to other
// processors by itself.
bool chooses_implementations(const PlannerEntry& entry, AdditionSet additions);
bool gives_ops_to_processors(const PlannerEntry& entry, AdditionSet additions);

}  // namespace sluice::planners
