// sluice compare: several planners on the same steps, one row each.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "sluice/base/progress/progress.hpp"
#include "sluice/experiment/comparison.hpp"
#include "sluice/report/comparison_json.hpp"
#include "sluice/report/comparison_text.hpp"
#include "sluice/report/describe_graph.hpp"
#include "sluice/report/json_document.hpp"
#include "sluice/report/run_record.hpp"
#include "sluice/train/interrupt.hpp"
#include "tools/budget_arguments.hpp"
#include "tools/chart_output.hpp"
#include "tools/commands.hpp"
#include "tools/options.hpp"
#include "tools/output_files.hpp"
#include "tools/terminal/say.hpp"

namespace sluice::cli {
namespace {

struct CompareArguments {
  WorkloadArguments workload;
  MachineArguments machine;
  BudgetArguments budget;
  std::optional<double> learning_rate;
  std::string schedule = "constant";
  ProfileArguments profile;
  std::string json;
  std::string html;
  experiment::ComparisonOptions comparison;
};

Result<int> run_compare(CompareArguments arguments) {
  SLUICE_RETURN_IF_ERROR(check_planner_names(arguments.comparison.planners));
  SLUICE_RETURN_IF_ERROR(check_trials(arguments.comparison.trials));
  SLUICE_RETURN_IF_ERROR(experiment::check_rounds(arguments.comparison));
  SLUICE_RETURN_IF_ERROR(arguments.budget.check());
  SLUICE_ASSIGN(arguments.comparison.learning_rate,
                base_learning_rate(arguments.learning_rate, arguments.workload.optimizer));
  SLUICE_ASSIGN(arguments.comparison.schedule, train::parse_learning_rate_schedule(arguments.schedule));
  SLUICE_ASSIGN(Prepared prepared,
                prepare(arguments.workload, arguments.machine, experiment::Probe::kMeasure, arguments.profile));
  SLUICE_ASSIGN(arguments.comparison.fast, budget_for(prepared, arguments.budget, arguments.machine,
                                                      arguments.comparison.planners, arguments.comparison.session));
  arguments.comparison.accesses = prepared.access_counts();
  arguments.comparison.measure_again = measuring_again(prepared, arguments.machine, arguments.profile);
  const train::InterruptGuard guard;
  std::string doing;
  std::optional<ProgressLine> progress;  // of what is being done
  const auto show = [&](std::string_view what, std::int64_t done, std::int64_t total) {
    if (what != doing) progress.emplace(fmt::format("comparing: {}", what));
    doing = what;
    progress->update(done, total);
  };
  SLUICE_ASSIGN(const experiment::ComparisonResult result,
                experiment::compare_planners(prepared.workload, prepared.machine, prepared.profile,
                                             arguments.comparison, show, [&] { return guard.interrupted(); }));
  progress.reset();
  const report::ComparisonHeading heading{prepared.workload.graph(), prepared.machine, arguments.budget.fast};
  const std::string text = report::comparison_text(heading, result);
  say("{}", text);
  const nlohmann::json document = report::comparison_json(heading, result);
  Outputs outputs;
  outputs.note(report::write_document(arguments.json, "compare", document));
  outputs.note(write_charts(arguments.html, {"compare", report::describe_graph(heading.graph), text, document}));
  SLUICE_RETURN_IF_ERROR(outputs.failure());
  const bool same = result.same_bits();
  if (!same) print_error("results differ from fast-only's: this is a bug, please report it");
  return same ? kExitOk : kExitFailed;
}

}  // namespace

void add_compare_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("compare", "Run planners side by side, a process each, step by step in turn");
  auto arguments = std::make_shared<CompareArguments>();
  experiment::ComparisonOptions& comparison = arguments->comparison;
  arguments->workload.add_to(*command);
  arguments->machine.add_to(*command);
  arguments->budget.add_to(*command);
  command
      ->add_option("--planners", comparison.planners,
                   "Which planners or policies, separated by commas (fast-only is always added)")
      ->type_name("PLANNER")
      ->delimiter(',')
      ->required();
  command->add_option(
      "--steps", comparison.steps,
      "Steps of each process; the first two are warm-up (default: 9 where a step takes less than half a second, "
      "else 5)");
  command
      ->add_option("--starts", comparison.starts,
                   "Processes of each planner, one after the other: each has a speed of its own")
      ->default_val(3);
  arguments->profile.add_to(*command);
  add_trials_option(*command, comparison.trials);
  add_data_options(*command, comparison.session);
  add_learning_rate_option(*command, arguments->learning_rate);
  command->add_option("--schedule", arguments->schedule, "As for sluice train")
      ->type_name("SCHEDULE")
      ->capture_default_str();
  add_html_option(*command, arguments->html,
                  "Also write a page with charts: step times, and where the time goes, simulated and executed",
                  {"--svg-times"});
  add_json_option(*command, arguments->json);
  command->footer("Example: sluice compare resnet50 --batch 16 --fast 20% --planners on-demand,sentinel --steps 12");
  command->callback([arguments, &action] { action = [arguments] { return run_compare(*arguments); }; });
}

}  // namespace sluice::cli
