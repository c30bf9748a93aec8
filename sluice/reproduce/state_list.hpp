// What `sluice reproduce list` shows: every item and every kept result with its state.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sluice/reproduce/files/catalog.hpp"
#include "sluice/reproduce/kept_state.hpp"

namespace sluice {

std::string state_list_text(const Catalog& catalog, KeptStates& states);
nlohmann::json kept_states_json(const Catalog& catalog, KeptStates& states);

}  // namespace sluice
