#include "tools/run_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sluice/report/json_document.hpp"
#include "sluice/report/run_record.hpp"
#include "tools/commands.hpp"
#include "tools/help/help_commands.hpp"
#include "tools/help/help_format.hpp"
#include "tools/output_files.hpp"
#include "tools/terminal/messages.hpp"
#include "tools/terminal/output_settings.hpp"
#include "tools/terminal/say.hpp"

namespace sluice::cli {
namespace {

void add_commands(CLI::App& app, Action& action) {
  add_machine_command(app, action);
  add_models_command(app, action);
  add_planners_command(app, action);
  add_inspect_command(app, action);
  add_characterize_command(app, action);
  add_profile_command(app, action);
  add_max_batch_command(app, action);
  add_plan_command(app, action);
  add_verify_command(app, action);
  add_explain_command(app, action);
  add_simulate_command(app, action);
  add_train_command(app, action);
  add_compare_command(app, action);
  add_sweep_command(app, action);
  add_report_command(app, action);
  add_allocate_command(app, action);
  add_doctor_command(app, action);
  add_completion_command(app, action);
  add_man_command(app, action);
  add_worker_command(app, action);
  add_gradients_command(app, action);
}

// The parser complains of a missing command where the user mistyped one.
std::string explain(const CLI::App& app, const CLI::ParseError& wrong, int argc, char** argv) {
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  const auto is_asked = [&](const CLI::App* command) { return command->check_name(argv[1]); };
  if (argc > 1 && argv[1] == std::string_view("reproduce")) {
    return "'sluice reproduce' is gone; in a checkout, benchmarks/reproduce.py takes the same words";
  }
  const bool mistyped = argc > 1 && argv[1][0] != '-' && std::none_of(commands.begin(), commands.end(), is_asked);
  return mistyped ? fmt::format("unknown command '{}'", argv[1]) : wrong.what();
}

// Tells the user, and the program that reads the document, if there is one.
void report_error(const ErrorDestination& destination, const Error& error) {
  print_error(error.message);
  const Status written = report::write_error_document(destination.path, destination.command, to_json(error));
  if (!written.ok()) print_error(written.error().message);
}

Result<int> act(const CLI::App& app, const OutputSettings& output, const Action& action) {
  SLUICE_RETURN_IF_ERROR(settle_output(app, output));
  SLUICE_RETURN_IF_ERROR(try_output_files(app));
  return action();
}

// Results that nobody got are no success. A reader that went away, such as `head`, knows it and is told nothing.
int with_lost_output(int exit_code) {
  const int reason = dropped_output();
  if (reason == 0 || exit_code != kExitOk) return exit_code;
  if (reason != EPIPE) print_error(fmt::format("cannot write to standard output: {}", std::strerror(reason)));
  return kExitFailed;
}

int parse_and_act(int argc, char** argv, ErrorDestination& destination) {
  CLI::App app(
      "Decides where every tensor of a training step lives when fast memory is too small, and runs it that way.",
      "sluice");
  app.set_version_flag("--version", fmt::format("sluice {}", report::kVersion));
  app.require_subcommand(1);
  app.footer(help_footer());
  format_help(app);
  Action action;
  add_commands(app, action);
  OutputSettings output;
  add_output_options(app, output);
  destination = find_error_destination(app, {argv + 1, argv + argc});
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& wrong) {
    report_error(destination, bad_input(explain(app, wrong, argc, argv)));
    print_error("see sluice --help, or sluice COMMAND --help");
    return kExitBadInput;
  }
  const Result<int> done = act(app, output, action);
  if (done.ok()) return *done;
  report_error(destination, done.error());
  return exit_code_of(done.error().code);
}

}  // namespace

int run_command(int argc, char** argv, ErrorDestination& destination) {
  begin_saying();
  begin_output();
  return with_lost_output(parse_and_act(argc, argv, destination));
}

}  // namespace sluice::cli
