// sluice simulate: what a step would take, without running it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "sluice/experiment/step_prediction.hpp"
#include "sluice/plan/op_choices.hpp"
#include "sluice/planners/bound/any_order_bound.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/policies/run_file.hpp"
#include "sluice/report/breakdown_text.hpp"
#include "sluice/report/chrome_trace.hpp"
#include "sluice/report/json_document.hpp"
#include "sluice/report/run_record.hpp"
#include "sluice/report/step/plan_summary.hpp"
#include "sluice/report/text_table.hpp"
#include "sluice/sim/locality.hpp"
#include "sluice/sim/simulator.hpp"
#include "sluice/train/planning/planning_advice.hpp"
#include "sluice/train/session.hpp"
#include "tools/budget_arguments.hpp"
#include "tools/commands.hpp"
#include "tools/options.hpp"
#include "tools/output_files.hpp"
#include "tools/plan_output.hpp"
#include "tools/planner_arguments.hpp"
#include "tools/policy_output.hpp"
#include "tools/terminal/say.hpp"

namespace sluice::cli {
namespace {

struct SimulateArguments {
  WorkloadArguments workload;
  MachineArguments machine;
  BudgetArguments budget;
  PlannerArguments planner;
  ProfileArguments profile;
  std::string plan;
  std::string trace;
  std::string json;
};

Status check(const SimulateArguments& arguments) {
  if (arguments.budget.is_auto() && !arguments.plan.empty()) {
    return bad_input(
        fmt::format("--fast {} and --plan exclude each other: a plan has its budget", arguments.budget.fast));
  }
  SLUICE_RETURN_IF_ERROR(arguments.planner.check());
  return arguments.budget.check();
}

Result<policies::Run> obtain_run(const SimulateArguments& arguments, const Prepared& prepared,
                                 const train::FastBudget& fast) {
  if (arguments.plan.empty()) {
    const AttendedPlanning attended(arguments.planner);
    Result<policies::Run> run =
        train::plan_run(prepared.workload, prepared.machine, prepared.profile, arguments.planner.name, fast,
                        prepared.access_counts(), attended.watch());
    if (!run.ok()) {
      return advised(prepared.workload, prepared.machine, prepared.profile, arguments.planner.name, fast,
                     prepared.access_counts(), run.error());
    }
    SLUICE_RETURN_IF_ERROR(attended.program_written());
    return run;
  }
  return policies::read_run(arguments.plan);
}

std::string describe_timeline(const memory::Machine& machine, const program::StepTimes& timeline,
                              const sim::LocalityCount& locality) {
  std::vector<std::pair<std::string, std::string>> fields{{"step", format_seconds(timeline.step_seconds)},
                                                          {"stall", format_seconds(timeline.stall_seconds)},
                                                          {"locality", sim::describe_locality(locality)}};
  for (std::size_t i = 0; i < machine.links.size(); ++i) {
    const memory::Link& link = machine.links[i];
    fields.emplace_back(fmt::format("{} -> {}", machine.tier(link.from).name, machine.tier(link.to).name),
                        fmt::format("{} at {}{}", format_bytes(timeline.link_bytes[i]),
                                    format_bandwidth(link.bandwidth), link.throttled ? " (emulated)" : ""));
  }
  return report::format_fields(fields);
}

Result<int> run_simulate(const SimulateArguments& arguments) {
  SLUICE_RETURN_IF_ERROR(check(arguments));
  SLUICE_ASSIGN(Prepared prepared,
                prepare(arguments.workload, arguments.machine, experiment::Probe::kUseCache, arguments.profile));
  SLUICE_ASSIGN(const train::FastBudget fast,
                budget_for(prepared, arguments.budget, arguments.machine, {arguments.planner.name}));
  SLUICE_ASSIGN(const policies::Run run, obtain_run(arguments, prepared, fast));
  const plan::Plan& plan = policies::plan_of(run);
  if (plan::count_choices(plan).other_kernels > 0 && prepared.profile.choices.empty()) {
    SLUICE_RETURN_IF_ERROR(measure_choices(prepared, arguments.machine));
  }
  const graph::Graph& graph = prepared.workload.graph();
  SLUICE_ASSIGN(const sim::PlannedStep step, sim::PlannedStep::make(graph, prepared.profile, prepared.machine, plan));
  SLUICE_ASSIGN(const experiment::StepPrediction prediction, experiment::predict_step(step, run, prepared.machine));
  const auto& [timeline, locality, parts, policy, dtr] = prediction;
  say("{}\npredicted for {}{}\n{}", report::describe_graph(graph), plan.planner,
      report::is_emulated(prepared.machine) ? ", " + report::emulation_note(prepared.machine) : "",
      describe_timeline(prepared.machine, timeline, locality.step));
  if (policy) say("{}", describe_policy_timeline(*policy));
  if (dtr) say("{}", describe_dtr_step(*dtr, run));
  if (parts) say("\n{}", report::breakdown_table({{plan.planner + ", simulated", *parts}}));
  if (const auto bound = planners::any_order_bound_by_prices(graph, prepared.profile, prepared.machine, plan);
      bound.ok()) {
    say("the plan's prices prove that no step of these ops takes less than {}\n", format_seconds(*bound));
  }
  if (const auto bound = planners::bound_by_prices(graph, prepared.profile, prepared.machine, plan); bound.ok()) {
    say("and that no step by moving tensors in this order takes less than {}\n", format_seconds(*bound));
  }
  if (!arguments.json.empty()) {
    nlohmann::json document = report::plan_summary_json(
        graph, prepared.machine, run,
        train::predicted_baseline_seconds(prepared.workload, prepared.machine, prepared.profile));
    document.update(report::prediction_json(prediction));
    if (policy) document["policy"] = policy_timeline_json(*policy);
    if (dtr) document["policy"] = dtr_step_json(*dtr);
    SLUICE_RETURN_IF_ERROR(report::write_document(arguments.json, "simulate", std::move(document)));
  }
  if (!arguments.trace.empty()) {
    const std::vector<report::TracedStep> steps{{0, timeline}};
    SLUICE_RETURN_IF_ERROR(report::write_json_file(
        arguments.trace, report::chrome_trace(step.step(), prepared.machine, run, step.program(), steps)));
  }
  return kExitOk;
}

}  // namespace

void add_simulate_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("simulate", "Predict the time, stalls and traffic of a step");
  auto arguments = std::make_shared<SimulateArguments>();
  arguments->workload.add_to(*command);
  arguments->machine.add_to(*command);
  arguments->budget.add_to(*command);
  arguments->planner.add_to(*command);
  arguments->profile.add_to(*command);
  command->add_option("--plan", arguments->plan, "Simulate this plan file instead of asking a planner")
      ->check(CLI::ExistingFile);
  add_output_file(*command, "--trace", arguments->trace, "Write the predicted step as a Chrome/Perfetto trace");
  add_json_option(*command, arguments->json);
  command->footer("Example: sluice simulate resnet50 --batch 16 --fast 20% --link-bandwidth 1GB/s");
  command->callback([arguments, &action] { action = [arguments] { return run_simulate(*arguments); }; });
}

}  // namespace sluice::cli
