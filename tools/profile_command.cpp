// sluice profile: how long every op of a model takes on this machine.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "sluice/base/progress/progress.hpp"
#include "sluice/profile/access_profile_file.hpp"
#include "sluice/profile/profile_file.hpp"
#include "sluice/report/json_document.hpp"
#include "sluice/report/run_record.hpp"
#include "tools/access_output.hpp"
#include "tools/commands.hpp"
#include "tools/options.hpp"
#include "tools/output_files.hpp"
#include "tools/plan_output.hpp"
#include "tools/profile_output.hpp"
#include "tools/terminal/say.hpp"

namespace sluice::cli {
namespace {

struct ProfileCommandArguments {
  WorkloadArguments workload;
  MachineArguments machine;
  std::size_t top = 20;
  bool placements = false;
  bool encodings = false;
  bool implementations = false;
  AccessArguments accesses;
  std::string save;
  std::string json;
};

nlohmann::json profile_json(const Prepared& prepared) {
  const graph::Graph& graph = prepared.workload.graph();
  return {{"run", report::run_record(prepared.machine)},
          {"model", graph.name},
          {"graph_fingerprint", graph.fingerprint()},
          {"provenance", to_string(prepared.profile.provenance)},
          {"distinct_ops", prepared.profile.distinct_ops},
          {"measured_ops", prepared.profile.measured_ops},
          {"ops", op_times_json(graph, prepared.profile)},
          {"placements", placements_json(graph, prepared.machine, prepared.profile)}};
}

Result<measure::PlacementEffort> add_placements(const ProfileCommandArguments& arguments, Prepared& prepared) {
  profile::ProfileCache cache = arguments.machine.open_cache(prepared.machine);
  ProgressLine progress("measuring ops by placement");
  return measure::measure_placements(*prepared.workload.compiled, prepared.machine, cache, prepared.profile,
                                     [&](int measured, int total) { progress.update(measured, total); });
}

Result<profile::AccessProfile> count_accesses(const ProfileCommandArguments& arguments, Prepared& prepared) {
  SLUICE_ASSIGN(const experiment::AccessOptions options, arguments.accesses.options());
  profile::ProfileCache cache = arguments.machine.open_cache(prepared.machine);
  const WaitingLine waiting("counting accesses");
  return experiment::measure_access_profile(prepared.workload, prepared.machine, {}, options, cache);
}

Status save(const std::string& path, const Prepared& prepared, const std::optional<profile::AccessProfile>& accesses) {
  nlohmann::json document = profile::profile_to_json(prepared.workload.graph(), prepared.machine, prepared.profile);
  if (accesses) document["accesses"] = profile::access_profile_to_json(*accesses);
  SLUICE_RETURN_IF_ERROR(report::write_json_file(path, document));
  say("\nwritten to {}\n", path);
  return {};
}

Result<int> run_profile(const ProfileCommandArguments& arguments) {
  SLUICE_ASSIGN(Prepared prepared, prepare(arguments.workload, arguments.machine, experiment::Probe::kUseCache,
                                           {.most_seconds = measure::kWithoutLimit, .cold = true}));
  const graph::Graph& graph = prepared.workload.graph();
  const memory::Machine& machine = prepared.machine;
  say("{}\n{}", report::describe_graph(graph), describe_times(graph, machine, prepared.profile, arguments.top));
  if (arguments.placements) {
    SLUICE_ASSIGN(const measure::PlacementEffort effort, add_placements(arguments, prepared));
    say("{}", describe_placements(graph, machine, prepared.profile, effort, arguments.top));
  }
  if (arguments.encodings) {
    SLUICE_RETURN_IF_ERROR(measure_encodings(prepared, arguments.machine));
    say("{}", describe_encodings(graph, prepared.profile, arguments.top));
  }
  if (arguments.implementations) {
    SLUICE_RETURN_IF_ERROR(measure_choices(prepared, arguments.machine));
    say("{}", describe_implementations(graph, prepared.profile, arguments.top));
  }
  std::optional<profile::AccessProfile> accesses;
  if (arguments.accesses.wanted) {
    SLUICE_ASSIGN(accesses, count_accesses(arguments, prepared));
    say("\n{}", describe_accesses(graph, *accesses, arguments.top));
  }
  if (!arguments.save.empty()) SLUICE_RETURN_IF_ERROR(save(arguments.save, prepared, accesses));
  if (!arguments.json.empty()) {
    nlohmann::json document = profile_json(prepared);
    if (arguments.implementations) document["implementations"] = implementations_json(graph, prepared.profile);
    if (prepared.profile.encodings) document["encodings"] = encodings_json(graph, *prepared.profile.encodings);
    if (accesses) document["accesses"] = accesses_json(graph, *accesses);
    SLUICE_RETURN_IF_ERROR(report::write_document(arguments.json, "profile", std::move(document)));
  }
  return kExitOk;
}

}  // namespace

void add_profile_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("profile", "Measure how long every op of a model takes");
  auto arguments = std::make_shared<ProfileCommandArguments>();
  arguments->workload.add_to(*command);
  arguments->machine.add_to(*command);
  command->add_option("--top", arguments->top, "How many of the slowest ops to show")->capture_default_str();
  command->add_flag(
      "--placements", arguments->placements,
      "Also time ops with operands in each slow tier that they can use in place (minutes the first time)");
  command->add_flag("--encodings", arguments->encodings,
                    "Also measure what moving tensors without their zeros would save (three steps of training)");
  command->add_flag("--implementations", arguments->implementations,
                    "Also time ops by each of the kernels that they could run by");
  arguments->accesses.add_to(*command);
  add_output_file(
      *command, "--save", arguments->save,
      "Write the profile to this file, to plan with: --profile FILE, and with access counts --accesses FILE");
  add_json_option(*command, arguments->json);
  command->footer("Example: sluice profile resnet50 --batch 16");
  command->callback([arguments, &action] { action = [arguments] { return run_profile(*arguments); }; });
}

}  // namespace sluice::cli
