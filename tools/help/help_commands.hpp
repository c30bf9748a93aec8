// `sluice completion SHELL` and `sluice man`: what shells and `man` know of the other commands. Added last, as they
// describe the parser as it is when they run.
#pragma once

#include "tools/commands.hpp"

namespace sluice {

void add_completion_command(CLI::App& app, Action& action);
void add_man_command(CLI::App& app, Action& action);

}  // namespace sluice
