// sluice: plans and runs neural-network training inside a fast-memory budget.
#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "sluice/report/run_record.hpp"
#include "tools/commands.hpp"

namespace sluice {

int exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kBadInput:
    case ErrorCode::kInfeasible:
    case ErrorCode::kUnsupported:
    case ErrorCode::kMismatch:
      return kExitBadInput;
    case ErrorCode::kIo:
    case ErrorCode::kOutOfSpace:
      return kExitFailed;
    case ErrorCode::kInterrupted:
      return kExitInterrupted;
  }
  return kExitFailed;
}

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
  add_reproduce_command(app, action);
  add_worker_command(app, action);
  add_gradients_command(app, action);
}

// The parser complains of a missing command where the user mistyped one.
std::string explain(const CLI::App& app, const CLI::ParseError& wrong, int argc, char** argv) {
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  const auto is_asked = [&](const CLI::App* command) { return command->check_name(argv[1]); };
  const bool mistyped = argc > 1 && argv[1][0] != '-' && std::none_of(commands.begin(), commands.end(), is_asked);
  return mistyped ? fmt::format("unknown command '{}'", argv[1]) : wrong.what();
}

// Standard output is for results alone.
void log_to_standard_error() {
  spdlog::set_default_logger(spdlog::stderr_logger_mt("sluice"));
  spdlog::set_pattern("sluice: %l: %v");
}

int run(int argc, char** argv) {
  log_to_standard_error();
  CLI::App app(
      "Decides where every tensor of a training step lives when fast memory is too small, and runs it that way.",
      "sluice");
  app.set_version_flag("--version", fmt::format("sluice {}", kVersion));
  app.require_subcommand(1);
  app.footer("Each command explains itself: sluice COMMAND --help");
  Action action;
  add_commands(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& wrong) {
    fmt::print(stderr, "sluice: {}\nsluice: see sluice --help, or sluice COMMAND --help\n",
               explain(app, wrong, argc, argv));
    return kExitBadInput;
  }
  const Result<int> done = action();
  if (done.ok()) return *done;
  fmt::print(stderr, "sluice: {}\n", done.error().message);
  return exit_code_of(done.error().code);
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  try {
    return sluice::run(argc, argv);
  } catch (const std::exception& failure) {
    fmt::print(stderr, "sluice: {}\n", failure.what());
    return sluice::kExitFailed;
  }
}
