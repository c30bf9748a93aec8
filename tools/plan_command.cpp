// sluice plan: asks a planner and writes what it decided.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "sluice/base/progress/progress.hpp"
#include "sluice/base/time_of.hpp"
#include "sluice/plan/plan_file.hpp"
#include "sluice/planners/bound/any_order_bound.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/report/convergence.hpp"
#include "sluice/report/json_document.hpp"
#include "sluice/report/run_record.hpp"
#include "sluice/report/step/plan_summary.hpp"
#include "sluice/report/text_table.hpp"
#include "sluice/sim/noise.hpp"
#include "sluice/train/planning/planning_advice.hpp"
#include "sluice/train/planning/policy_run.hpp"
#include "tools/budget_arguments.hpp"
#include "tools/chart_output.hpp"
#include "tools/commands.hpp"
#include "tools/options.hpp"
#include "tools/output_files.hpp"
#include "tools/plan_output.hpp"
#include "tools/planner_arguments.hpp"
#include "tools/terminal/say.hpp"

namespace sluice::cli {
namespace {

struct PlanArguments {
  WorkloadArguments workload;
  MachineArguments machine;
  BudgetArguments budget;
  PlannerArguments planner;
  ProfileArguments profile;
  std::string output;
  std::string json;
  std::string html;
};

struct AttendedPlan {
  plan::Plan plan;
  Seconds seconds = 0;                        // that it took to plan
  std::vector<planners::SearchRound> rounds;  // of the search
};

Result<AttendedPlan> attended_plan(const PlanArguments& arguments, const Prepared& prepared,
                                   const train::FastBudget& fast) {
  const AttendedPlanning attended(arguments.planner);
  std::optional<Result<plan::Plan>> plan;
  const Seconds seconds = time_of([&] {
    plan = train::plan_workload(prepared.workload, prepared.machine, prepared.profile, arguments.planner.name, fast,
                                prepared.access_counts(), attended.watch());
  });
  if (!plan->ok()) {
    return advised(prepared.workload, prepared.machine, prepared.profile, arguments.planner.name, fast,
                   prepared.access_counts(), plan->error());
  }
  SLUICE_RETURN_IF_ERROR(attended.program_written());
  return AttendedPlan{std::move(**plan), seconds, attended.rounds()};
}

void certify_both(const graph::Graph& graph, const Prepared& prepared, plan::Plan& plan) {
  const WaitingLine waiting("proving how good the plan is", {.at_most = 2 * planners::kBoundSeconds});
  planners::certify(graph, prepared.profile, prepared.machine, plan, planners::kBoundSeconds);
  planners::certify_any_order(graph, prepared.profile, prepared.machine, plan, planners::kBoundSeconds);
}

// `file`: empty where nobody wants one.
Status draw_convergence(const std::string& file, const graph::Graph& graph, const plan::Plan& plan,
                        const nlohmann::json& document) {
  if (file.empty()) return {};
  const auto has_room = [](const nlohmann::json& round) { return round.at("feasible") > 0; };
  if (std::ranges::any_of(document.at("convergence"), has_room)) {
    return write_charts(file,
                        {"plan", report::describe_graph(graph), report::format_fields(plan.planner_config), document});
  }
  return bad_input(
      fmt::format("--html: {} had no rounds of a search to draw; home and swapadvisor search in rounds where not "
                  "everything fits, and sluice report has charts of any plan",
                  plan.planner));
}

// Estimates are no measure of what another budget costs.
Result<train::FastBudget> budget_of(const PlanArguments& arguments, Prepared& prepared) {
  if (!arguments.profile.estimate) {
    return budget_for(prepared, arguments.budget, arguments.machine, {arguments.planner.name});
  }
  if (arguments.budget.is_auto()) return bad_input("--estimate and --fast auto exclude each other: name a budget");
  return arguments.budget.fixed();
}

Result<int> run_plan(const PlanArguments& arguments) {
  SLUICE_RETURN_IF_ERROR(train::check_is_planner(arguments.planner.name));
  SLUICE_RETURN_IF_ERROR(arguments.planner.check());
  SLUICE_RETURN_IF_ERROR(arguments.budget.check());
  SLUICE_ASSIGN(Prepared prepared,
                prepare(arguments.workload, arguments.machine, experiment::Probe::kUseCache, arguments.profile));
  SLUICE_ASSIGN(const train::FastBudget fast, budget_of(arguments, prepared));
  SLUICE_ASSIGN(AttendedPlan attended, attended_plan(arguments, prepared, fast));
  plan::Plan& plan = attended.plan;
  const graph::Graph& graph = prepared.workload.graph();
  certify_both(graph, prepared, plan);
  const Seconds baseline = train::predicted_baseline_seconds(prepared.workload, prepared.machine, prepared.profile);
  say("{}\n{}", report::describe_graph(graph), describe_plan(graph, prepared.machine, plan, baseline));
  const sim::Noise noise;
  SLUICE_ASSIGN(const sim::NoisyStep noisy,
                sim::predict_under_noise(graph, prepared.machine, prepared.profile, plan, noise));
  say("{}", describe_noise(noise, noisy));
  const auto worth = planners::worth_by_prices(graph, prepared.profile, prepared.machine, plan);
  if (worth) say("{}", describe_worth(graph, plan, *worth));
  if (!plan.planner_config.empty()) {
    say("what {} was told and what it chose\n{}", plan.planner, report::format_fields(plan.planner_config));
  }
  say("planned in {}\n", format_seconds(attended.seconds));
  Outputs outputs;
  if (!arguments.output.empty()) {
    outputs.note(plan::write_plan(arguments.output, graph, plan));
    if (outputs.failure().ok()) say("written to {}\n", arguments.output);
  }
  nlohmann::json summary = report::plan_summary_json(graph, prepared.machine, plan, baseline);
  summary["under_noise"] = report::noise_json(noise, noisy);
  if (worth) summary["worth"] = report::worth_json(graph, plan, *worth);
  summary["planning_ms"] = attended.seconds * 1e3;
  summary["convergence"] = report::convergence_json(attended.rounds);
  outputs.note(report::write_document(arguments.json, "plan", summary));
  outputs.note(draw_convergence(arguments.html, graph, plan, summary));
  SLUICE_RETURN_IF_ERROR(outputs.failure());
  return kExitOk;
}

}  // namespace

void add_plan_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("plan", "Decide what lives where, and write the plan");
  auto arguments = std::make_shared<PlanArguments>();
  arguments->workload.add_to(*command);
  arguments->machine.add_to(*command);
  arguments->budget.add_to(*command);
  arguments->planner.add_to(*command);
  arguments->profile.add_to(*command);
  command->add_flag(
      "--estimate", arguments->profile.estimate,
      "Measure nothing, on a machine whose memories are as large as asked (simulated): op times are those of "
      "--profile, or guesses from bytes, which tell whether a model fits and not how fast it is");
  add_output_file(*command, "-o,--output", arguments->output, "Write the plan to this file");
  add_html_option(*command, arguments->html,
                  "Also write a page with a chart of how the search converged: worst, average and best of each round "
                  "(home, swapadvisor)",
                  {"--svg-convergence"});
  add_json_option(*command, arguments->json);
  command->footer("Example: sluice plan resnet50 --batch 16 --fast 20% -o plan.json");
  command->callback([arguments, &action] { action = [arguments] { return run_plan(*arguments); }; });
}

}  // namespace sluice::cli
