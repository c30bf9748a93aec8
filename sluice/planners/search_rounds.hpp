// How a search that goes in rounds converges: HOME's iterations (figure 8), SwapAdvisor's generations. Of the policies
// that a round judges, the worst, the average and the best step, as the search itself estimates them.
#pragma once

#include <string_view>
#include <vector>

#include "sluice/base/units.hpp"
#include "sluice/plan/plan.hpp"

namespace sluice::planners {

struct SearchRound {
  int feasible = 0;                          // of those judged, how many have room
  Seconds worst = 0, average = 0, best = 0;  // of these; 0 where there is none
};

// Of the steps of those that have room.
SearchRound round_of(const std::vector<Seconds>& steps);

// Adds rounds 1, 2, 4, 8 and so on to the plan's planner_config, as "NAME_4".
void note_rounds(plan::Plan& plan, const std::vector<SearchRound>& rounds, std::string_view name);

}  // namespace sluice::planners
