// sluice verify: whether a plan is safe for a model on this machine, and if not, which rules it breaks.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "sluice/plan/verify/verifier.hpp"
#include "sluice/report/run_record.hpp"
#include "tools/commands.hpp"
#include "tools/options.hpp"

namespace sluice {
namespace {

struct VerifyArguments {
  std::string plan;
  WorkloadArguments workload;
  MachineArguments machine;
  std::string json;
};

Result<int> run_verify(const VerifyArguments& arguments) {
  SLUICE_ASSIGN(const PlannedModel model, read_planned_model(arguments.plan, arguments.workload, arguments.machine));
  const Plan& plan = model.plan;
  const std::vector<Violation> violations = verify_plan(model.workload.graph(), model.machine, plan);
  nlohmann::json list = nlohmann::json::array();
  for (const Violation& violation : violations) {
    fmt::print("{}: {}\n", to_string(violation.rule), violation.message);
    list.push_back({{"rule", to_string(violation.rule)}, {"message", violation.message}});
  }
  if (violations.empty()) {
    fmt::print("safe: {} residencies and {} migrations by {} keep every rule\n", plan.residencies.size(),
               plan.migrations.size(), plan.planner);
  }
  if (!arguments.json.empty()) {
    SLUICE_RETURN_IF_ERROR(write_json_file(
        arguments.json, {{"run", run_record(model.machine)}, {"safe", violations.empty()}, {"violations", list}}));
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

}  // namespace sluice
