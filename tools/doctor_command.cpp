// sluice doctor: what of this machine is in the way of training, or slows it down, and what to do about it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "sluice/base/progress/terminal.hpp"
#include "sluice/doctor/checks.hpp"
#include "sluice/doctor/read_host.hpp"
#include "sluice/memory/presets.hpp"
#include "sluice/profile/profile_cache.hpp"
#include "sluice/report/json_document.hpp"
#include "sluice/report/run_record.hpp"
#include "tools/commands.hpp"
#include "tools/options.hpp"
#include "tools/terminal/say.hpp"

namespace sluice::cli {
namespace {

struct DoctorArguments {
  std::string spill_dir, cache_dir;
  std::string json;
};

Style style_of(doctor::Severity verdict) {
  if (verdict == doctor::Severity::kOk) return Style::kGood;
  return verdict == doctor::Severity::kNote ? Style::kNote : Style::kBad;
}

std::string checks_text(const std::vector<doctor::Check>& checks) {
  std::size_t width = 0;
  for (const doctor::Check& check : checks) width = std::max(width, check.name.size());
  std::string text;
  for (const doctor::Check& check : checks) {
    const std::string verdict = fmt::format("{:<7}", to_string(check.verdict));
    text += fmt::format("{}  {:<{}}  {}\n", styled(verdict, style_of(check.verdict), terminal().colour_out), check.name,
                        width, check.found);
    if (!check.advice.empty()) text += fmt::format("{:>{}}to do: {}\n", "", 9 + width + 2, check.advice);
  }
  return text;
}

std::string conclusion(const std::vector<doctor::Check>& checks) {
  std::ptrdiff_t notes = 0, problems = 0;
  for (const doctor::Check& check : checks) {
    notes += check.verdict == doctor::Severity::kNote ? 1 : 0;
    problems += check.verdict == doctor::Severity::kProblem ? 1 : 0;
  }
  return fmt::format("\n{} checks, {} notes, {} problems: {}\n", checks.size(), notes, problems,
                     problems == 0 ? "nothing prevents training here" : "solve the problems first");
}

nlohmann::json checks_json(const std::vector<doctor::Check>& checks) {
  nlohmann::json list = nlohmann::json::array();
  for (const doctor::Check& check : checks) {
    list.push_back({{"name", check.name},
                    {"verdict", to_string(check.verdict)},
                    {"found", check.found},
                    {"advice", check.advice.empty() ? nlohmann::json() : nlohmann::json(check.advice)}});
  }
  return list;
}

Result<int> run_doctor(const DoctorArguments& arguments) {
  const doctor::WhereToLook where{arguments.spill_dir.empty() ? memory::default_spill_path() : arguments.spill_dir,
                                  arguments.cache_dir.empty() ? profile::ProfileCache::default_folder()
                                                              : std::filesystem::path(arguments.cache_dir)};
  const std::vector<doctor::Check> checks = doctor::check_host(doctor::read_host(where));
  say("{}{}", checks_text(checks), conclusion(checks));
  SLUICE_RETURN_IF_ERROR(report::write_document(arguments.json, "doctor",
                                                {{"run", report::run_record(memory::host_machine(1))},
                                                 {"can_train", doctor::can_train(checks)},
                                                 {"checks", checks_json(checks)}}));
  return doctor::can_train(checks) ? kExitOk : kExitFailed;
}

}  // namespace

void add_doctor_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("doctor", "Check this machine: what prevents or slows training, and what to do");
  auto arguments = std::make_shared<DoctorArguments>();
  command
      ->add_option("--spill-dir", arguments->spill_dir, "Where the file tier is to lie (default: as for sluice train)")
      ->type_name("FOLDER");
  command
      ->add_option("--cache-dir", arguments->cache_dir, "Where measured op times are kept (default: ~/.cache/sluice)")
      ->type_name("FOLDER");
  add_json_option(*command, arguments->json);
  command->footer("Example: sluice doctor --spill-dir /var/tmp");
  command->callback([arguments, &action] { action = [arguments] { return run_doctor(*arguments); }; });
}

}  // namespace sluice::cli
