// sluice explain: the life of one tensor or op in a plan, in words.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "sluice/plan/op_choices.hpp"
#include "sluice/program/program.hpp"
#include "sluice/report/explanation.hpp"
#include "sluice/report/json_document.hpp"
#include "sluice/report/run_record.hpp"
#include "tools/commands.hpp"
#include "tools/options.hpp"
#include "tools/terminal/say.hpp"

namespace sluice::cli {
namespace {

struct ExplainArguments {
  std::string plan;
  std::string name;
  WorkloadArguments workload;
  MachineArguments machine;
  std::string json;
};

Result<int> run_explain(const ExplainArguments& arguments) {
  SLUICE_ASSIGN(const PlannedModel model, read_planned_model(arguments.plan, arguments.workload, arguments.machine));
  const graph::Graph& graph = model.workload.graph();
  const plan::Plan& plan = policies::plan_of(model.run);
  SLUICE_RETURN_IF_ERROR(program::lower_plan(graph, model.machine, plan));  // only what may be run is explained
  SLUICE_ASSIGN(const std::vector<report::Explanation> found,
                report::explain(graph, model.machine, plan, arguments.name));
  if (const std::string choices = plan::describe_choices(plan); !choices.empty()) say("{}\n", choices);
  nlohmann::json list = nlohmann::json::array();
  for (const report::Explanation& each : found) {
    say("{}", report::explanation_text(each));
    list.push_back(report::explanation_json(each));
  }
  if (!arguments.json.empty()) {
    SLUICE_RETURN_IF_ERROR(report::write_document(
        arguments.json, "explain",
        {{"run", report::run_record(model.machine)}, {"planner", plan.planner}, {"found", list}}));
  }
  return kExitOk;
}

}  // namespace

void add_explain_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("explain", "Tell the life of a tensor or an op in a plan");
  auto arguments = std::make_shared<ExplainArguments>();
  command->add_option("plan", arguments->plan, "Plan file")->required()->check(CLI::ExistingFile);
  command->add_option("name", arguments->name, "Tensor or op, as the plan file names it")
      ->type_name("NAME")
      ->required();
  arguments->workload.add_to(*command);
  arguments->machine.add_to(*command);
  add_json_option(*command, arguments->json);
  command->footer("Example: sluice explain plan.json conv1.weight resnet50 --batch 16");
  command->callback([arguments, &action] { action = [arguments] { return run_explain(*arguments); }; });
}

}  // namespace sluice::cli
