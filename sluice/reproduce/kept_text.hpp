// The .txt of a kept result: the commands as a person would type them, what made it (made_record.hpp), the note, and
// what the command printed. Folders of this machine are left out of all of it.
#pragma once

#include <string>
#include <string_view>

#include "sluice/reproduce/files/kept_result.hpp"
#include "sluice/reproduce/made_record.hpp"

namespace sluice {

// "sluice compare lstm --json docs/results/NAME.json"; words that a shell would take apart are in quotes.
std::string shown_command(const CommandWords& words, const std::string& name);

// `places`: those that it was made with.
std::string kept_text(const KeptResult& result, const MadeRecord& made, std::string_view printed, const Places& places);

}  // namespace sluice
