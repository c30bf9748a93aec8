// sluice planners: what there is to plan with, and what each does.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "sluice/report/json_document.hpp"
#include "sluice/report/planner_table.hpp"
#include "tools/commands.hpp"
#include "tools/options.hpp"
#include "tools/terminal/say.hpp"

namespace sluice::cli {
namespace {

struct PlannersArguments {
  bool markdown = false;
  std::string json;
};

Result<int> run_planners(const PlannersArguments& arguments) {
  say("{}", arguments.markdown ? report::planner_table_markdown() : report::planner_table_text());
  if (!arguments.markdown) {
    say("\nWhat the columns mean: docs/planners.md. Settings and additions of each: sluice plan --help\n");
  }
  SLUICE_RETURN_IF_ERROR(
      report::write_document(arguments.json, "planners", {{"planners", report::planner_table_json()}}));
  return kExitOk;
}

}  // namespace

void add_planners_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("planners", "What plans can be made by, and what each planner does");
  auto arguments = std::make_shared<PlannersArguments>();
  command->add_flag("--markdown", arguments->markdown, "The table alone, for a document");
  add_json_option(*command, arguments->json);
  command->footer("Example: sluice planners --json planners.json");
  command->callback([arguments, &action] { action = [arguments] { return run_planners(*arguments); }; });
}

}  // namespace sluice::cli
