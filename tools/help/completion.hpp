// Scripts by which shells complete `sluice` commands: subcommands, options, words of enumerations, names of models and
// planners, files and folders. All of it stands in the script: completing starts no program.
//
// Pure functions of the command tree. Install as the shell expects it:
//   bash   share/bash-completion/completions/sluice
//   zsh    share/zsh/site-functions/_sluice
//   fish   share/fish/vendor_completions.d/sluice.fish
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sluice/base/result.hpp"
#include "tools/help/command_tree.hpp"

namespace sluice {

std::string bash_completion(const CommandTree& tree);
std::string zsh_completion(const CommandTree& tree);
std::string fish_completion(const CommandTree& tree);

// kBadInput with the shells that there are.
Result<std::string> completion_for(std::string_view shell, const CommandTree& tree);

// What may stand where a value of this kind is expected; empty where that is text of the user's own or a path.
const std::vector<std::string>& words_for(const OptionEntry& option, const CommandTree& tree);

}  // namespace sluice
