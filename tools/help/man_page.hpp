// The manual page sluice(1), from the same tree as --help: every command and every option is on it. Options that several
// commands have stand once, behind the commands.
#pragma once

#include <string>

#include "tools/help/command_tree.hpp"

namespace sluice {

std::string man_page(const CommandTree& tree);  // roff, with the macros of man(7)

}  // namespace sluice
