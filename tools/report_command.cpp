// sluice report: one page about one model on this machine.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>

#include "sluice/base/atomic_file.hpp"
#include "sluice/base/progress/progress.hpp"
#include "sluice/report/json_document.hpp"
#include "sluice/report/page/collect_report.hpp"
#include "sluice/report/page/equivalent_commands.hpp"
#include "sluice/report/page/report_page.hpp"
#include "sluice/train/interrupt.hpp"
#include "sluice/train/planning/policy_run.hpp"
#include "tools/budget_arguments.hpp"
#include "tools/commands.hpp"
#include "tools/options.hpp"
#include "tools/output_files.hpp"
#include "tools/terminal/say.hpp"

namespace sluice::cli {
namespace {

struct ReportArguments {
  WorkloadArguments workload;
  MachineArguments machine;
  BudgetArguments budget;
  ProfileArguments profile;
  std::string planner{planners::kDefaultPlanner};
  std::vector<std::string> planners{"on-demand", "sentinel"};
  std::vector<std::string> curve{"10%", "15%", "20%", "30%", "40%", "60%", "80%", "100%"};
  bool run = false;
  std::optional<std::int64_t> steps;
  std::int64_t starts = 1;
  std::string output = "report.html";
  std::string json;
};

// As it was typed, from the subcommand's name on.
std::vector<std::string> typed_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  const auto begin = std::ranges::find(words, "report");
  return {begin, words.end()};
}

std::string how_measured(const ReportArguments& arguments) {
  const std::string times = arguments.profile.times.empty()
                                ? "Op times were measured on this machine, each op by itself with its operands in fast "
                                  "memory, or are those measured before and kept."
                                : "Op times are those of " + arguments.profile.times + ".";
  return times + " Links say below how their figures are known; docs/profiling.md tells how each is measured.";
}

// The main planner is among those compared, behind the baseline.
std::vector<std::string> all_planners(const ReportArguments& arguments) {
  std::vector<std::string> all{std::string(planners::kBaselinePlanner)};
  for (const std::string& each : arguments.planners) {
    if (std::ranges::find(all, each) == all.end()) all.push_back(each);
  }
  if (std::ranges::find(all, arguments.planner) == all.end()) all.push_back(arguments.planner);
  return all;
}

Result<report::ReportRequest> report_request(const ReportArguments& arguments, const train::FastBudget& fast,
                                             const Prepared& prepared) {
  report::ReportRequest request{.planner = arguments.planner,
                                .planners = all_planners(arguments),
                                .fast = fast,
                                .fast_text = arguments.budget.fast,
                                .shares = {},
                                .run = arguments.run,
                                .comparison = {},
                                .how_measured = how_measured(arguments),
                                .commands = {}};
  for (const std::string& each : arguments.curve) {
    SLUICE_ASSIGN(const double share, parse_percentage("--curve", each));
    request.shares.push_back(share);
  }
  std::ranges::sort(request.shares);
  request.comparison.steps = arguments.steps;
  request.comparison.starts = arguments.starts;
  request.comparison.accesses = prepared.access_counts();
  SLUICE_ASSIGN(request.comparison.learning_rate, base_learning_rate({}, arguments.workload.optimizer));
  request.commands = report::equivalent_commands(typed_arguments(), arguments.budget.fast, arguments.planner,
                                                 fmt::format("{}", fmt::join(request.planners, ",")));
  return request;
}

Status check(const ReportArguments& arguments) {
  SLUICE_RETURN_IF_ERROR(train::check_is_planner(arguments.planner));
  SLUICE_RETURN_IF_ERROR(check_planner_names(all_planners(arguments)));
  SLUICE_RETURN_IF_ERROR(arguments.budget.check());
  for (const std::string& each : arguments.curve) SLUICE_RETURN_IF_ERROR(parse_percentage("--curve", each));
  if (arguments.output == report::kStandardOutput)
    return bad_input("-o - : the page goes into a file; --json - is for programs");
  experiment::ComparisonOptions rounds = {
      .planners = all_planners(arguments), .steps = arguments.steps, .starts = arguments.starts};
  if (arguments.run) SLUICE_RETURN_IF_ERROR(experiment::check_rounds(rounds));
  return {};
}

Result<int> run_report(ReportArguments arguments) {
  if (arguments.budget.fast.empty()) arguments.budget.fast = "20%";
  SLUICE_RETURN_IF_ERROR(check(arguments));
  SLUICE_ASSIGN(Prepared prepared,
                prepare(arguments.workload, arguments.machine,
                        arguments.run ? experiment::Probe::kMeasure : experiment::Probe::kUseCache, arguments.profile));
  const std::vector<std::string> planners = all_planners(arguments);
  SLUICE_RETURN_IF_ERROR(add_implementations(prepared, arguments.machine, planners));
  // A budget that is to be found is that of the plan that is shown.
  std::vector<std::string> shown_first{arguments.planner};
  shown_first.insert(shown_first.end(), planners.begin(), planners.end());
  SLUICE_ASSIGN(const train::FastBudget fast, budget_for(prepared, arguments.budget, arguments.machine, shown_first));
  SLUICE_ASSIGN(report::ReportRequest request, report_request(arguments, fast, prepared));
  request.comparison.measure_again = measuring_again(prepared, arguments.machine, arguments.profile);
  const train::InterruptGuard guard;
  ProgressLine progress("report");
  SLUICE_ASSIGN(
      const nlohmann::json document,
      report::collect_report(
          prepared.workload, prepared.machine, prepared.profile, prepared.access_counts(), request,
          [&](std::string_view what, std::int64_t done, std::int64_t total) { progress.update(done, total, what); },
          [&] { return guard.interrupted(); }));
  progress.clear();
  Outputs outputs;
  outputs.note(write_file(arguments.output, report::report_page(document)));
  outputs.note(report::write_document(arguments.json, "report", document));
  SLUICE_RETURN_IF_ERROR(outputs.failure());
  say("{}\nwritten to {}; it opens in any browser, offline\n", document["title"].get<std::string>(), arguments.output);
  if (document["comparison"].value("same_bits", true) == false) {
    print_error("results differ from fast-only's: this is a bug, please report it");
    return kExitFailed;
  }
  if (document["complete"] == true) return kExitOk;
  print_error("interrupted; what was finished is in the report, which says so");
  return kExitInterrupted;
}

}  // namespace

void add_report_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("report", "Write a page to look at: memory, timeline, planners, how much is enough");
  auto arguments = std::make_shared<ReportArguments>();
  arguments->workload.add_to(*command);
  arguments->machine.add_to(*command);
  arguments->budget.add_to(*command);
  arguments->profile.add_to(*command);
  command->add_option("--planner", arguments->planner, "Whose plan is shown")
      ->type_name("PLANNER")
      ->capture_default_str();
  command
      ->add_option("--planners", arguments->planners,
                   "Planners or policies to hold beside it, separated by commas (fast-only is always added)")
      ->delimiter(',')
      ->type_name("PLANNER")
      ->capture_default_str();
  command->add_option("--curve", arguments->curve, "Budgets of the curve of step time over memory, separated by commas")
      ->delimiter(',')
      ->capture_default_str();
  command->add_flag("--run", arguments->run,
                    "Run the planners side by side, as sluice compare does, not only simulate");
  command->add_option("--steps", arguments->steps, "With --run: steps of each process, the first two are warm-up");
  command->add_option("--starts", arguments->starts, "With --run: processes of each planner")->capture_default_str();
  add_output_file(*command, "-o,--output", arguments->output, "The page")->capture_default_str();
  add_json_option(*command, arguments->json);
  command->footer(
      "Example: sluice report resnet50 --batch 16 --fast 20% -o report.html\n"
      "         sluice report --onnx model.onnx --batch 8 --fast 2GiB --run");
  command->callback([arguments, &action] { action = [arguments] { return run_report(*arguments); }; });
}

}  // namespace sluice::cli
