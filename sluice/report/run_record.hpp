// Where and when a result was obtained: what every JSON output carries, so that numbers can be traced.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "sluice/base/result.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::report {

inline constexpr std::string_view kVersion = "0.1.0";

// {"sluice": version, "date": ISO 8601 in UTC, "cpu", "processor" (of this machine), "threads", "emulated",
// "slow_tiers", "links"; "processors" where there are several}
nlohmann::json run_record(const memory::Machine& machine);

// Whether any number shown for this machine comes from a tier, link or processor that is imitated.
bool is_emulated(const memory::Machine& machine);
// Which of them: "slow memory emulated", "slow memory and processors emulated"; empty where nothing is.
std::string emulation_note(const memory::Machine& machine);

// Pretty-printed with a final newline, whole or not at all: base/atomic_file.hpp, whose errors it returns.
Status write_json_file(const std::string& path, const nlohmann::json& document);

}  // namespace sluice::report
