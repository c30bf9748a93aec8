// What `sluice reproduce list` shows: every item and every kept result with its state.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "sluice/reproduce/files/catalog.hpp"
#include "sluice/reproduce/kept_state.hpp"

namespace sluice {

// `lacks` says what the machine has not (kept_needs.hpp): the minutes at the end are of what it can make.
std::string state_list_text(const Catalog& catalog, KeptStates& states,
                            const std::function<std::string(const KeptResult&)>& lacks);
nlohmann::json kept_states_json(const Catalog& catalog, KeptStates& states);

}  // namespace sluice
