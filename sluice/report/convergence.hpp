// How a planner's search converged (planners/search_rounds.hpp): HOME's figure 8, for people and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/planners/search_rounds.hpp"

namespace sluice {

// A list with an object a round: feasible; worst_ms, average_ms, best_ms, null where none has room.
nlohmann::json convergence_json(const std::vector<SearchRound>& rounds);

// SVG: three curves over the rounds that have any. `subtitle`: what was planned. No such round: an empty text.
std::string convergence_picture(const std::vector<SearchRound>& rounds, std::string_view planner,
                                std::string_view subtitle);

}  // namespace sluice
