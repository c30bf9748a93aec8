#include "tools/help/completion.hpp"

#include <fmt/format.h>

namespace sluice {

Result<std::string> completion_for(std::string_view shell, const CommandTree& tree) {
  if (shell == "bash") return bash_completion(tree);
  if (shell == "zsh") return zsh_completion(tree);
  if (shell == "fish") return fish_completion(tree);
  return bad_input(fmt::format("no completion for '{}'; there is one for bash, zsh and fish", shell));
}

const std::vector<std::string>& words_for(const OptionEntry& option, const CommandTree& tree) {
  if (option.kind == ValueKind::kModel) return tree.models;
  if (option.kind == ValueKind::kPlanner) return tree.planners;
  return option.words;
}

}  // namespace sluice
