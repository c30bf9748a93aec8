// A machine as JSON: what `sluice machine --json` writes, and how one process hands its measured machine to others, so that
// all of them work with the same figures.
#pragma once

#include <nlohmann/json.hpp>

#include "sluice/base/json_reader.hpp"
#include "sluice/base/result.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::memory {

nlohmann::json machine_to_json(const Machine& machine);
Result<Machine> machine_from_json(const nlohmann::json& document);
Status read_json(const JsonReader& reader, Machine& machine);  // the same within a larger document

}  // namespace sluice::memory
