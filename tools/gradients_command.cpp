// sluice gradients: one step's parameters, data and gradients as files, for comparison with another framework.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "sluice/base/progress/progress.hpp"
#include "sluice/experiment/gradient_dump.hpp"
#include "sluice/report/json_document.hpp"
#include "tools/commands.hpp"
#include "tools/options.hpp"
#include "tools/terminal/say.hpp"

namespace sluice::cli {
namespace {

struct GradientsArguments {
  WorkloadArguments workload;
  MachineArguments machine;
  train::SessionOptions session;
  std::optional<double> learning_rate;
  experiment::GradientDumpOptions dump;
  std::string json;
};

Status dump(train::Workload& workload, const GradientsArguments& arguments) {
  const WaitingLine waiting("computing gradients");
  return experiment::dump_gradients(workload, arguments.session, arguments.dump);
}

Result<int> run_gradients(GradientsArguments arguments) {
  SLUICE_ASSIGN(const int threads, arguments.machine.thread_count());
  SLUICE_ASSIGN(const train::WorkloadOptions options, arguments.workload.options(threads));
  const graph::OptimizerOptions& optimizer = options.optimizer;
  if ((options.precision != graph::Precision::kF32 && options.precision != graph::Precision::kBF16) ||
      optimizer.delayed || batches_a_step(optimizer) > 1) {
    return bad_input(
        "gradients are those of one batch in fp32: leave out --delay-updates, --accumulate, --ranks and "
        "--precision with masters");
  }
  SLUICE_ASSIGN(train::Workload workload, train::build_workload(options));
  print_notes(workload.notes);
  SLUICE_ASSIGN(const double rate, base_learning_rate(arguments.learning_rate, arguments.workload.optimizer));
  arguments.dump.learning_rate = rate;
  SLUICE_RETURN_IF_ERROR(dump(workload, arguments));
  say("written to {}\n", arguments.dump.folder.string());
  SLUICE_RETURN_IF_ERROR(report::write_document(arguments.json, "gradients",
                                                {{"model", workload.graph().name},
                                                 {"folder", arguments.dump.folder.string()},
                                                 {"learning_rate", rate},
                                                 {"notes", workload.notes}}));
  return kExitOk;
}

}  // namespace

void add_gradients_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("gradients", "Write one step's parameters, data and gradients to a folder");
  command->group("");  // hidden: for benchmarks/rivals
  auto arguments = std::make_shared<GradientsArguments>();
  arguments->workload.add_to(*command);
  arguments->machine.add_threads_to(*command);
  add_data_options(*command, arguments->session);
  add_learning_rate_option(*command, arguments->learning_rate);
  command
      ->add_option("-o,--output", arguments->dump.folder,
                   "Folder (sluice/experiment/gradient_dump.hpp says what is in it)")
      ->type_name("FOLDER")
      ->required();
  command->add_option("--parameters", arguments->dump.parameters, "Start from the parameter files of this folder")
      ->check(CLI::ExistingDirectory);
  add_json_option(*command, arguments->json);
  command->footer("Example: sluice gradients resnet50 --batch 2 --output gradients");
  command->callback([arguments, &action] { action = [arguments] { return run_gradients(*arguments); }; });
}

}  // namespace sluice::cli
