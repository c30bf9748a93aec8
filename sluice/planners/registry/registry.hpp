// The table of planners, by the names that users write.
#pragma once

#include "sluice/planners/chosen_planner.hpp"

namespace sluice::planners {

const std::vector<PlannerEntry>& planners();

// Finds a planner by its name, with or without settings; nullptr when the name is unknown.
const PlannerEntry* find_planner(std::string_view text);

// kBadInput for an unknown planner, setting or addition, or a value out of range; the message lists what there is.
Result<ChosenPlanner> choose_planner(std::string_view text);

// Whether the planner, so named, looks at Profile::encodings. False where there is no such planner.
bool wants_encodings(std::string_view text);

// Whether the planner, so named, looks at Profile::choices for other implementations. False where there is no such
// planner.
bool chooses_implementations(std::string_view text);

}  // namespace sluice::planners
