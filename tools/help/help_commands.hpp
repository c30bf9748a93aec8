// `sluice completion bash`: a script by which bash completes what the other commands take, asked of their --help. And
// `sluice man`, which was: manual pages are made of --help when sluice is built (tools/help/write_manual.sh).
#pragma once

#include "tools/commands.hpp"

namespace sluice::cli {

void add_completion_command(CLI::App& app, Action& action);
void add_man_command(CLI::App& app, Action& action);  // hidden: says what there is instead

}  // namespace sluice::cli
