#include "tools/terminal/output_settings.hpp"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "sluice/base/progress/terminal.hpp"
#include "sluice/report/json_document.hpp"

namespace sluice::cli {
namespace {

// Standard output is for results alone. A progress line that is in the way is wiped off.
void log_to_standard_error(spdlog::level::level_enum level, bool colour, bool rewrites) {
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>(colour ? spdlog::color_mode::always
                                                                           : spdlog::color_mode::never);
  auto log = std::make_shared<spdlog::logger>("sluice", std::move(sink));
  log->set_level(level);
  log->set_pattern(fmt::format("{}sluice: %^%l:%$ %v", rewrites ? "\r\033[K" : ""));
  spdlog::set_default_logger(std::move(log));
}

Result<ColourChoice> parse_colour(const std::string& text) {
  if (text == "auto") return ColourChoice::kAuto;
  if (text == "always") return ColourChoice::kAlways;
  if (text == "never") return ColourChoice::kNever;
  return bad_input(fmt::format("--colour {}: it is auto, always or never", text));
}

void settle_terminal(ColourChoice choice, bool quiet, spdlog::level::level_enum level) {
  const TerminalEnvironment environment = read_terminal_environment();
  const bool errors_on_terminal = ::isatty(STDERR_FILENO) == 1;
  const Terminal settled{.colour_out = wants_colour(choice, ::isatty(STDOUT_FILENO) == 1, environment),
                         .colour_errors = wants_colour(choice, errors_on_terminal, environment),
                         .unicode = takes_unicode(environment),
                         .quiet = quiet};
  set_terminal(settled);
  log_to_standard_error(level, settled.colour_errors, errors_on_terminal && !is_dumb(environment));
}

bool asks_for_document_on_output(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) {
    const CLI::Option* const json = command->get_option_no_throw("--json");
    if (json != nullptr && json->count() > 0 && json->as<std::string>() == report::kStandardOutput) return true;
  }
  return false;
}

}  // namespace

void add_output_options(CLI::App& app, OutputSettings& settings) {
  const auto add_to = [&](CLI::App& command) {
    command.add_flag("-q,--quiet", settings.quiet, "Say nothing but results and errors: no notes, no progress")
        ->group(kOutputGroup);
    command.add_flag("-v,--verbose", settings.verbose, "Also say what is measured, found in caches and tried")
        ->group(kOutputGroup);
    command.add_option("--colour,--color", settings.colour, "When to use colours (default: on a terminal)")
        ->type_name("auto|always|never")
        ->group(kOutputGroup);
  };
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) add_to(*command);
  add_to(app);
}

void begin_output() { settle_terminal(ColourChoice::kAuto, false, spdlog::level::info); }

Status settle_output(const CLI::App& app, const OutputSettings& settings) {
  if (settings.quiet && settings.verbose) return bad_input("--quiet and --verbose exclude each other");
  SLUICE_ASSIGN(const ColourChoice choice, parse_colour(settings.colour));
  if (asks_for_document_on_output(app)) SLUICE_RETURN_IF_ERROR(report::keep_output_for_documents(settings.quiet));
  const auto level = settings.quiet     ? spdlog::level::err
                     : settings.verbose ? spdlog::level::debug
                                        : spdlog::level::info;
  settle_terminal(choice, settings.quiet, level);
  return {};
}

}  // namespace sluice::cli
