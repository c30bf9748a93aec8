// sluice inspect: what a model or an ONNX file is made of, before anything is measured or trained.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "sluice/base/as_index.hpp"
#include "sluice/base/progress/progress.hpp"
#include "sluice/graph/summary.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/smallest_budget.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"
#include "sluice/report/json_document.hpp"
#include "sluice/report/run_record.hpp"
#include "sluice/report/text_table.hpp"
#include "sluice/train/planning/planning.hpp"
#include "tools/commands.hpp"
#include "tools/options.hpp"
#include "tools/plan_output.hpp"
#include "tools/terminal/say.hpp"

namespace sluice::cli {
namespace {

struct InspectArguments {
  WorkloadArguments workload;
  MachineArguments machine;
  std::int64_t ops = 20;
  std::string json;
};

// What the ops of one kind make and compute, forward.
struct KindTotals {
  std::int64_t ops = 0;
  double flops = 0;
  Bytes results = 0;
};

std::map<std::string, KindTotals> totals_by_kind(const graph::Graph& graph) {
  std::map<std::string, KindTotals> totals;
  for (const graph::Op& op : graph.ops()) {
    std::string kind(to_string(op.kind));
    if (op.kind == graph::OpKind::kUnary) kind = to_string(op.as<graph::UnaryAttributes>().function);
    KindTotals& each = totals[kind];
    ++each.ops;
    each.flops += flops(graph, op);
    // A reshape is a view: it makes no bytes of its own.
    for (const graph::TensorId id : op.outputs) {
      const graph::Tensor& tensor = graph.tensor(id);
      if (op.kind != graph::OpKind::kReshape && !graph::is_persistent(tensor.role)) each.results += tensor.bytes;
    }
  }
  return totals;
}

std::string text_of_flops(double flops) { return flops == 0 ? "" : fmt::format("{:.2f}", flops / 1e9); }

std::string kinds_table(const graph::Graph& graph) {
  report::TextTable table({{"forward ops", report::Align::kLeft, 0},
                           {"count", report::Align::kRight, 0},
                           {"GFLOP", report::Align::kRight, 0},
                           {"results", report::Align::kRight, 0}});
  for (const auto& [kind, totals] : totals_by_kind(graph)) {
    table.add_row({kind, fmt::format("{}", totals.ops), text_of_flops(totals.flops), format_bytes(totals.results)});
  }
  return table.text();
}

std::string ops_table(const graph::Graph& graph, std::int64_t most) {
  report::TextTable table({{"op", report::Align::kLeft, 0},
                           {"layer", report::Align::kLeft, 0},
                           {"result", report::Align::kLeft, 0},
                           {"parameters", report::Align::kRight, 0},
                           {"GFLOP", report::Align::kRight, 0}});
  for (graph::OpIndex i = 0; i < graph.op_count() && i < most; ++i) {
    const graph::Op& op = graph.op(i);
    std::int64_t parameters = 0;
    for (const graph::TensorId id : op.inputs) {
      if (graph.tensor(id).role == graph::Role::kParameter) parameters += graph::element_count(graph.tensor(id).shape);
    }
    table.add_row({std::string(to_string(op.kind)), graph.layers.at(as_index(op.layer)),
                   op.outputs.empty() ? "" : graph::to_string(graph.tensor(op.outputs[0]).shape),
                   parameters == 0 ? "" : fmt::format("{}", parameters), text_of_flops(flops(graph, op))});
  }
  std::string text = table.text();
  if (graph.op_count() > most) text += fmt::format("... and {} more ops (--ops shows more)\n", graph.op_count() - most);
  return text;
}

struct ModelFindings {
  graph::GraphSummary forward, step;
  Bytes activations = 0;  // kept or made in a step
  Bytes everything = 0;
  std::string_view least_planner;  // that plans for the smallest fast budget
  Bytes smallest = 0;
  Bytes working_set = 0;  // operands of the largest op: no plan needs less
  std::string largest_op;
};

// The planner that fetches what an op needs when it needs it gets along with the least, and plans without op times.
constexpr std::string_view kLeastPlanner = "on-demand";

// Of a step so small that one tensor is most of it, its moves may find no room in less than everything.
Status find_smallest_budget(const graph::Graph& graph, const memory::Machine& machine, ModelFindings& found) {
  const profile::Profile no_times;
  planners::PlanRequest request{graph, no_times, machine, {}};
  for (const memory::Tier& tier : machine.tiers)
    request.budgets.push_back(align_down(tier.capacity, memory::kBlockAlignment));
  request.budgets[memory::kFastTier] = planners::fast_only_bytes(graph);
  const WaitingLine waiting("looking for the smallest budget");
  const Result<Bytes> smallest = planners::smallest_feasible_bytes(kLeastPlanner, request);
  if (!smallest.ok() && !wants_more_room(smallest.error().code)) return smallest.error();
  found.smallest = smallest.ok() ? *smallest : found.everything;
  found.least_planner = smallest.ok() ? kLeastPlanner : planners::kBaselinePlanner;
  return {};
}

// Work is counted in the logical graph, whose tensors have the shapes that ops see; bytes in the executable one.
Result<ModelFindings> find(const train::Workload& workload, const memory::Machine& machine) {
  const train::WorkloadOptions& options = workload.options;
  const graph::Graph logical =
      graph::prepare_training_graph(workload.forward, options.optimizer, options.precision, options.finer_slices);
  const graph::Graph& step = workload.graph();
  ModelFindings found{graph::summarize(workload.forward), graph::summarize(logical)};
  for (const graph::Tensor& tensor : step.tensors()) {
    const bool made = tensor.role == graph::Role::kActivation || tensor.role == graph::Role::kActivationGradient;
    if (made) found.activations += tensor.bytes;
  }
  graph::OpIndex largest = 0;
  found.working_set = plan::largest_working_set(step, &largest);
  found.everything = planners::fast_only_bytes(step);
  SLUICE_RETURN_IF_ERROR(find_smallest_budget(step, machine, found));
  found.largest_op = step.op(largest).name;
  return found;
}

std::string findings_text(const ModelFindings& found) {
  return report::format_fields({
      {"parameters", fmt::format("{} in {}", found.forward.parameters,
                                 format_bytes(found.forward.parameters * size_of(graph::DType::kF32)))},
      {"forward", fmt::format("{:.2f} GFLOP in {} ops", found.forward.flops / 1e9, found.forward.ops)},
      {"training step", fmt::format("{:.2f} GFLOP in {} ops", found.step.flops / 1e9, found.step.ops)},
      {"activations", fmt::format("{} made in a step, with their gradients", format_bytes(found.activations))},
      {"all in fast memory", format_bytes(found.everything)},
      {"smallest feasible", fmt::format("{} of fast memory ({:.1f} %, planner {})", format_bytes(found.smallest),
                                        100.0 * static_cast<double>(found.smallest) /
                                            static_cast<double>(std::max<Bytes>(found.everything, 1)),
                                        found.least_planner)},
      {"largest op", fmt::format("{} takes {}", found.largest_op, format_bytes(found.working_set))},
  });
}

nlohmann::json findings_json(const graph::Graph& forward, const ModelFindings& found,
                             const std::vector<std::string>& notes) {
  nlohmann::json kinds = nlohmann::json::object();
  for (const auto& [kind, totals] : totals_by_kind(forward)) {
    kinds[kind] = {{"ops", totals.ops}, {"flops", totals.flops}, {"result_bytes", totals.results}};
  }
  nlohmann::json ops = nlohmann::json::array();
  for (const graph::Op& op : forward.ops()) {
    ops.push_back({{"name", op.name},
                   {"kind", to_string(op.kind)},
                   {"layer", forward.layers.at(as_index(op.layer))},
                   {"flops", flops(forward, op)}});
  }
  return {{"model", forward.name},
          {"parameters", found.forward.parameters},
          {"forward_flops", found.forward.flops},
          {"step_flops", found.step.flops},
          {"activation_bytes", found.activations},
          {"fast_only_bytes", found.everything},
          {"smallest_fast_bytes", found.smallest},
          {"largest_op", found.largest_op},
          {"largest_op_bytes", found.working_set},
          {"kinds", kinds},
          {"ops", ops},
          {"notes", notes}};
}

Result<int> run_inspect(InspectArguments arguments) {
  WorkloadArguments& asked = arguments.workload;
  if (std::filesystem::exists(asked.model) || asked.model.ends_with(".onnx")) std::swap(asked.model, asked.onnx);
  SLUICE_ASSIGN(const int threads, arguments.machine.thread_count());
  SLUICE_ASSIGN(const train::WorkloadOptions options, asked.options(threads));
  SLUICE_ASSIGN(const train::Workload workload, train::build_workload(options));
  const graph::Graph& forward = workload.forward;
  SLUICE_ASSIGN(const memory::Machine machine, arguments.machine.machine());
  SLUICE_ASSIGN(const ModelFindings found, find(workload, machine));
  say("{}\n{}", report::describe_graph(workload.graph()), findings_text(found));
  for (const std::string& note : workload.notes) say("note: {}\n", note);
  say("\n{}\n{}", kinds_table(forward), ops_table(forward, arguments.ops));
  if (!arguments.json.empty()) {
    nlohmann::json document = findings_json(forward, found, workload.notes);
    document["run"] = report::run_record(machine);
    SLUICE_RETURN_IF_ERROR(report::write_document(arguments.json, "inspect", std::move(document)));
  }
  return kExitOk;
}

}  // namespace

void add_inspect_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("inspect", "Show what a model or an ONNX file is made of, and what it takes");
  auto arguments = std::make_shared<InspectArguments>();
  arguments->workload.add_to(*command);
  arguments->machine.add_to(*command);
  command->add_option("--ops", arguments->ops, "How many ops to list")->capture_default_str();
  add_json_option(*command, arguments->json);
  command->footer("Example: sluice inspect model.onnx --batch 8");
  command->callback([arguments, &action] { action = [arguments] { return run_inspect(*arguments); }; });
}

}  // namespace sluice::cli
