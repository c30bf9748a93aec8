// sluice verify: whether a plan is safe for a model on this machine, and if not, which rules it breaks.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "sluice/base/progress/progress.hpp"
#include "sluice/base/time_of.hpp"
#include "sluice/plan/verify/verifier.hpp"
#include "sluice/program/program.hpp"
#include "sluice/report/json_document.hpp"
#include "sluice/report/run_record.hpp"
#include "tools/commands.hpp"
#include "tools/options.hpp"
#include "tools/terminal/say.hpp"

namespace sluice::cli {
namespace {

struct VerifyArguments {
  std::string plan;
  WorkloadArguments workload;
  MachineArguments machine;
  std::string json;
};

Result<int> run_verify(const VerifyArguments& arguments) {
  SLUICE_ASSIGN(const PlannedModel model, read_planned_model(arguments.plan, arguments.workload, arguments.machine));
  const plan::Plan& plan = policies::plan_of(model.run);
  const graph::Graph& graph = model.workload.graph();
  std::vector<plan::Violation> violations;
  const Seconds verifying = time_of([&] {
    const WaitingLine waiting("verifying");
    violations = plan::verify_plan(graph, model.machine, plan);
  });
  Seconds lowering = 0;
  nlohmann::json list = nlohmann::json::array();
  for (const plan::Violation& violation : violations) {
    say("{}: {}\n", to_string(violation.rule), violation.message);
    list.push_back({{"rule", to_string(violation.rule)}, {"message", violation.message}});
  }
  if (violations.empty()) {
    lowering = time_of(
        [&] { SLUICE_CHECK(program::lower_plan(graph, model.machine, plan).ok(), "what is verified is lowered"); });
    say("safe: {} residencies and {} migrations by {} keep every rule (verified in {}, lowered in {})\n",
        plan.residencies.size(), plan.migrations.size(), plan.planner, format_seconds(verifying),
        format_seconds(lowering));
  }
  if (!arguments.json.empty()) {
    SLUICE_RETURN_IF_ERROR(report::write_document(arguments.json, "verify",
                                                  {{"run", report::run_record(model.machine)},
                                                   {"safe", violations.empty()},
                                                   {"verify_seconds", verifying},
                                                   {"lower_seconds", lowering},
                                                   {"violations", list}}));
  }
  return violations.empty() ? kExitOk : kExitFailed;
}

}  // namespace

void add_verify_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("verify", "Check a plan file and name the rules it breaks");
  auto arguments = std::make_shared<VerifyArguments>();
  command->add_option("plan", arguments->plan, "Plan file")->required()->check(CLI::ExistingFile);
  arguments->workload.add_to(*command);
  arguments->machine.add_to(*command);
  add_json_option(*command, arguments->json);
  command->footer("Example: sluice verify plan.json resnet50 --batch 16");
  command->callback([arguments, &action] { action = [arguments] { return run_verify(*arguments); }; });
}

}  // namespace sluice::cli
