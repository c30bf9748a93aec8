#include "tools/help/help_commands.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "sluice/report/json_document.hpp"
#include "tools/options.hpp"
#include "tools/terminal/say.hpp"

namespace sluice::cli {
namespace {

constexpr std::string_view kBash =
    R"bash(# Completion of sluice commands in bash, by what their --help says. Written by: sluice completion bash

_sluice() {
  local sluice=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local command= list= words= value= help i
  [[ $before == '=' ]] && before=${COMP_WORDS[COMP_CWORD - 2]}  # --option=value comes as three words
  [[ $word == '=' ]] && word=
  for ((i = 1; i < COMP_CWORD; ++i)); do
    [[ ${COMP_WORDS[i]} == -* || ${COMP_WORDS[i - 1]} == --colo*r ]] || { command=${COMP_WORDS[i]}; break; }
  done
  names() { "$sluice" "$1" -q --json - 2>/dev/null | sed -nE 's/^ *"name": "(.*)".*/\1/p'; }
  help=$("$sluice" $command --help 2>/dev/null)
  [[ $before == -* ]] && value=$(sed -nE "s/^  ([^ ]*,)?$before(,[^ ]*)? ([^ =]+).*/\3/p" <<<"$help")
  COMPREPLY=()
  case $value in
    *'|'*) words=${value//|/ } ;;
    PLANNER) words=$(names planners) ;;
    FILE) mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    FOLDER) mapfile -t COMPREPLY < <(compgen -d -- "$word"); return ;;
    ?*) return ;;  # text of the user's own
    '')
      if [[ $word == -* ]]; then
        words=$(sed -nE 's/^  (-[^ ]+).*/\1/p' <<<"$help" | tr , '\n')
      elif [[ -z $command ]]; then
        words=$(sed -n '/^Subcommands:/,/^$/s/^  \([^ ]*\).*/\1/p' <<<"$help")
      else
        words="$(names models) $(compgen -f -- "$word")"
      fi
      ;;
  esac
  [[ $word == *,* ]] && list=${word%,*},
  mapfile -t COMPREPLY < <(compgen -P "$list" -W "$words" -- "${word##*,}")
}
complete -o filenames -F _sluice sluice
)bash";

Result<int> run_completion(const std::string& shell, const std::string& json) {
  if (shell != "bash") {
    return bad_input(
        fmt::format("no completion for '{}': there is one for bash, and sluice COMMAND --help lists every "
                    "option",
                    shell));
  }
  say("{}", kBash);
  SLUICE_RETURN_IF_ERROR(report::write_document(json, "completion", {{"shell", shell}, {"script", kBash}}));
  return kExitOk;
}

}  // namespace

void add_completion_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("completion", "Print a script by which bash completes sluice commands");
  auto shell = std::make_shared<std::string>();
  auto json = std::make_shared<std::string>();
  command->add_option("shell", *shell, "Which shell it is for")->type_name("bash")->required();
  add_json_option(*command, *json);
  command->footer("Example: sluice completion bash > ~/.local/share/bash-completion/completions/sluice");
  command->callback([shell, json, &action] { action = [shell, json] { return run_completion(*shell, *json); }; });
}

void add_man_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("man")->group("")->allow_extras();
  auto json = std::make_shared<std::string>();
  add_json_option(*command, *json);
  command->callback([json, &action] {  // which the option writes to
    action = []() -> Result<int> {
      return bad_input(
          "sluice man is no more: each command explains itself, sluice COMMAND --help, and installing sluice where "
          "help2man is makes manual pages of that, man sluice-train");
    };
  });
}

}  // namespace sluice::cli
