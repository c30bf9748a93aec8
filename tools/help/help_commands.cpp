#include "tools/help/help_commands.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "sluice/report/json_document.hpp"
#include "tools/help/completion.hpp"
#include "tools/help/man_page.hpp"
#include "tools/options.hpp"

namespace sluice {
namespace {

Result<int> run_completion(const CLI::App& app, const std::string& shell, const std::string& json) {
  SLUICE_ASSIGN(const std::string script, completion_for(shell, describe_commands(app)));
  fmt::print("{}", script);
  SLUICE_RETURN_IF_ERROR(write_document(json, "completion", {{"shell", shell}, {"script", script}}));
  return kExitOk;
}

Result<int> run_man(const CLI::App& app, const std::string& json) {
  const CommandTree tree = describe_commands(app);
  fmt::print("{}", man_page(tree));
  SLUICE_RETURN_IF_ERROR(write_document(json, "man", command_tree_json(tree)));
  return kExitOk;
}

}  // namespace

void add_completion_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("completion", "Print a script by which a shell completes sluice commands");
  auto shell = std::make_shared<std::string>();
  auto json = std::make_shared<std::string>();
  command->add_option("shell", *shell, "Which shell it is for")->type_name("bash|zsh|fish")->required();
  add_json_option(*command, *json);
  command->footer(
      "Example: sluice completion bash > ~/.local/share/bash-completion/completions/sluice\n"
      "         sluice completion zsh > ~/.zfunc/_sluice (a folder of fpath)\n"
      "         sluice completion fish > ~/.config/fish/completions/sluice.fish");
  command->callback(
      [&app, shell, json, &action] { action = [&app, shell, json] { return run_completion(app, *shell, *json); }; });
}

void add_man_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("man", "Print the manual page, with every command and option");
  auto json = std::make_shared<std::string>();
  add_json_option(*command, *json);
  command->footer("Example: sluice man | man -l -; as data, sluice man --json -");
  command->callback([&app, json, &action] { action = [&app, json] { return run_man(app, *json); }; });
}

}  // namespace sluice
