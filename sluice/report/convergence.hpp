// How a planner's search converged (planners/search_rounds.hpp): HOME's figure 8, as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "sluice/planners/search_rounds.hpp"

namespace sluice::report {

// A list with an object a round: feasible; worst_ms, average_ms, best_ms, null where none has room.
nlohmann::json convergence_json(const std::vector<planners::SearchRound>& rounds);

}  // namespace sluice::report
