// sluice profile: how long every op of a model takes on this machine.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "sluice/report/run_record.hpp"
#include "sluice/report/text_table.hpp"
#include "tools/commands.hpp"
#include "tools/options.hpp"
#include "tools/plan_output.hpp"

namespace sluice {
namespace {

struct Arguments {
  WorkloadArguments workload;
  MachineArguments machine;
  std::size_t top = 20;
  std::string json;
};

std::string slowest_ops(const Graph& graph, const Profile& profile, std::size_t count) {
  const Seconds total = std::accumulate(profile.op_seconds.begin(), profile.op_seconds.end(), 0.0);
  std::vector<OpIndex> order(profile.op_seconds.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater{},
                           [&](OpIndex op) { return profile.op_seconds[static_cast<std::size_t>(op)]; });
  order.resize(std::min(order.size(), count));
  TextTable table({{"op", Align::kLeft, 0},
                   {"kind", Align::kLeft, 0},
                   {"phase", Align::kLeft, 0},
                   {"time", Align::kRight, 0},
                   {"share", Align::kRight, 0}});
  for (const OpIndex index : order) {
    const Op& op = graph.op(index);
    const Seconds seconds = profile.op_seconds[static_cast<std::size_t>(index)];
    table.add_row({op.name, std::string(to_string(op.kind)), std::string(to_string(op.phase)), format_seconds(seconds),
                   fmt::format("{:.1f} %", 100 * seconds / total)});
  }
  return table.text();
}

nlohmann::json profile_json(const Prepared& prepared) {
  nlohmann::json ops = nlohmann::json::array();
  const Graph& graph = prepared.workload.graph();
  for (OpIndex index = 0; index < graph.op_count(); ++index) {
    ops.push_back({{"op", graph.op(index).name},
                   {"kind", to_string(graph.op(index).kind)},
                   {"phase", to_string(graph.op(index).phase)},
                   {"seconds", prepared.profile.op_seconds[static_cast<std::size_t>(index)]}});
  }
  return {{"run", run_record(prepared.machine)},
          {"model", graph.name},
          {"graph_fingerprint", graph.fingerprint()},
          {"provenance", to_string(prepared.profile.provenance)},
          {"ops", ops}};
}

Result<int> run(const Arguments& arguments) {
  SLUICE_ASSIGN(const Prepared prepared, prepare(arguments.workload, arguments.machine, Probe::kMeasure));
  const auto& seconds = prepared.profile.op_seconds;
  fmt::print("{}\nsum of op times {}, all in fast memory, {} threads\n\n{}", describe_graph(prepared.workload.graph()),
             format_seconds(std::accumulate(seconds.begin(), seconds.end(), 0.0)), prepared.machine.threads,
             slowest_ops(prepared.workload.graph(), prepared.profile, arguments.top));
  if (!arguments.json.empty()) SLUICE_RETURN_IF_ERROR(write_json_file(arguments.json, profile_json(prepared)));
  return kExitOk;
}

}  // namespace

void add_profile_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("profile", "Measure how long every op of a model takes");
  auto arguments = std::make_shared<Arguments>();
  arguments->workload.add_to(*command);
  arguments->machine.add_to(*command);
  command->add_option("--top", arguments->top, "How many of the slowest ops to show")->capture_default_str();
  add_json_option(*command, arguments->json);
  command->footer("Example: sluice profile resnet50 --batch 16");
  command->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace sluice
