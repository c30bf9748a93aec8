// sluice characterize: what the papers observe about a training step, for any model.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "sluice/base/progress/progress.hpp"
#include "sluice/data/input_tensors.hpp"
#include "sluice/experiment/access_profiling.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"
#include "sluice/report/characterization_json.hpp"
#include "sluice/report/json_document.hpp"
#include "sluice/report/run_record.hpp"
#include "sluice/report/text_table.hpp"
#include "tools/chart_output.hpp"
#include "tools/commands.hpp"
#include "tools/options.hpp"
#include "tools/output_files.hpp"
#include "tools/plan_output.hpp"
#include "tools/terminal/say.hpp"

namespace sluice::cli {
namespace {

constexpr double kUsualFastShare = 0.2;  // of what everything takes: the papers' experiments

struct CharacterizeArguments {
  WorkloadArguments workload;
  MachineArguments machine;
  std::string fast;
  bool no_accesses = false;
  std::string json;
  std::string html;
};

// Everything that was found out about a workload.
struct Findings {
  graph::Liveness liveness;
  std::optional<profile::AccessProfile> accesses;
  report::Characterization observed;
  std::vector<report::PageMigrationCase> page_migration;
};

std::vector<report::PageMigrationCase> simulate_pages(const graph::Graph& graph, const Findings& found,
                                                      Bytes fast_budget) {
  std::vector<profile::TensorAccesses> accesses;
  if (found.accesses) accesses = profile::accesses_by_tensor(graph, *found.accesses);
  std::vector<report::PageMigrationCase> cases;
  for (const Bytes page : {profile::kPageBytes, 2 * kMiB}) {
    cases.push_back(
        {page, fast_budget, layout::compare_page_migration(graph, found.liveness, accesses, fast_budget, page)});
  }
  return cases;
}

// Runs a step under observation, or finds what was counted before.
Result<profile::AccessProfile> count_accesses(train::Workload& workload, memory::Machine& machine,
                                              const MachineArguments& arguments,
                                              const std::optional<MemorySize>& fast) {
  profile::ProfileCache cache = arguments.open_cache(machine);
  SLUICE_RETURN_IF_ERROR(probe_with_progress(machine, cache, experiment::Probe::kUseCache));
  print_note("counting main-memory accesses in one step (--no-accesses leaves them out)");
  const WaitingLine waiting("counting accesses");
  return experiment::measure_access_profile(workload, machine, {fast, true}, {}, cache);
}

Findings find(const train::Workload& workload, std::optional<profile::AccessProfile> accesses, Bytes fast_budget) {
  const graph::Graph& graph = workload.graph();
  Findings found{.liveness = graph::analyze_liveness(graph), .accesses = std::move(accesses)};
  found.observed = report::characterize(graph, found.liveness, found.accesses ? &*found.accesses : nullptr);
  found.page_migration = simulate_pages(graph, found, fast_budget);
  return found;
}

std::string findings_text(const graph::Graph& graph, const Findings& found) {
  std::string text = fmt::format("{}\n{}{}", report::describe_graph(graph),
                                 report::describe_characterization(graph, found.liveness, found.observed),
                                 report::describe_page_migration(found.page_migration));
  if (found.accesses) text += "\n" + report::describe_access_method(*found.accesses);
  return text;
}

nlohmann::json findings_json(const train::Workload& workload, const memory::Machine& machine, const Findings& found) {
  const graph::Graph& graph = workload.graph();
  nlohmann::json document = report::characterization_json(graph, found.observed);
  document["run"] = report::run_record(machine);
  document["model"] = graph.name;
  document["batch"] = data::batch_size(graph);
  document["graph_fingerprint"] = graph.fingerprint();
  document["page_migration"] = report::page_migration_json(found.page_migration);
  document["notes"] = workload.notes;
  if (found.accesses) document["accesses"] = report::access_method_json(*found.accesses);
  return document;
}

Result<int> run_characterize(const CharacterizeArguments& arguments) {
  std::optional<MemorySize> fast;
  if (!arguments.fast.empty()) {
    SLUICE_ASSIGN(fast, parse_memory_size(arguments.fast));
  }
  SLUICE_ASSIGN(ModelOnMachine model, build_model(arguments.workload, arguments.machine));
  auto& [workload, machine] = model;
  std::optional<profile::AccessProfile> accesses;
  if (!arguments.no_accesses) {
    SLUICE_ASSIGN(accesses, count_accesses(workload, machine, arguments.machine, fast));
  }
  const graph::Graph& graph = workload.graph();
  const Bytes fast_budget = fast.value_or(MemorySize{kUsualFastShare}).resolve(planners::fast_only_bytes(graph));
  const Findings found = find(workload, std::move(accesses), fast_budget);
  const std::string text = findings_text(graph, found);
  say("{}", text);
  const nlohmann::json document = findings_json(workload, machine, found);
  Outputs outputs;
  outputs.note(report::write_document(arguments.json, "characterize", document));
  outputs.note(write_charts(arguments.html, {"characterize", report::describe_graph(graph), text, document}));
  SLUICE_RETURN_IF_ERROR(outputs.failure());
  return kExitOk;
}

}  // namespace

void add_characterize_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("characterize", "Show how tensors live and are accessed: what planners can make use of");
  auto arguments = std::make_shared<CharacterizeArguments>();
  arguments->workload.add_to(*command);
  arguments->machine.add_to(*command);
  command
      ->add_option(
          "--fast", arguments->fast,
          "Fast budget: 512MiB, 2GiB, or a share of what everything takes (default: 20% to simulate page migration, "
          "all to count accesses)")
      ->type_name("SIZE");
  command->add_flag("--no-accesses", arguments->no_accesses,
                    "Only what the graph says: do not run a step to count accesses");
  add_json_option(*command, arguments->json);
  add_html_option(*command, arguments->html, "Also write a page with charts of it", {"--svg"});
  command->footer(
      "Example: sluice characterize resnet32 --batch 128\n"
      "         sluice characterize resnet50 --batch 16 --no-accesses --html findings.html\n"
      "         sluice characterize --onnx model.onnx --json findings.json");
  command->callback([arguments, &action] { action = [arguments] { return run_characterize(*arguments); }; });
}

}  // namespace sluice::cli
