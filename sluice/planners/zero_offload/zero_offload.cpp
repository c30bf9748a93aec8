// zero-offload (Ren et al., "ZeRO-Offload: Democratizing Billion-Scale Model Training", sections 5.3 and 5.4): parameters
// and activations on the device, gradients and what the optimizer keeps on the host, which runs the optimizer.
//
//   device      forward | backward 3   backward 2   backward 1 |
//   out                      gradients 3  gradients 2  gradients 1
//   host                             update 3     update 2     update 1
//   in                                      parameters 3  parameters 2  parameters 1
//
// Which states are where is the last strategy of a step with masters (strategy.hpp); this makes the plan of it. Updates are
// scheduled behind the backward pass (updates_last.hpp); the host's lane runs each as soon as its gradient is there. A
// gradient keeps its room on the device until the link should have carried it, by the profile's times; parameters come
// back one tensor after the other, as they are updated. Where something reads a parameter again that a step has updated
// (several losses), updates stay where the graph has them.
//
//   checkpoints=7    activations inside segments of 7 layers are made again in the backward pass: as in figure 5.2, for
//                    Transformers, of which seven layers of ours make one
//   share=60         60 % of the parameters are updated on the host, the last ones on the device, where it has room for
//                    their states: the host's updates behind the backward pass are what is not hidden
//
// Where the host's memory is limited and a file lies behind it, states that do not fit there are in the file, and pass
// through that memory for their update (states_on_file.hpp).
//
// It needs a processor beside the main one that may use a slow tier in place. Parameters without a master (of norms, or
// where all of a step is fp32) go to the host for their update, and come back.
//
// Cost: linear in uses, and the packing. docs/planners/zero-offload.md says what is the paper's and what is ours.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/rescheduled_request.hpp"
#include "sluice/planners/schedule/checkpoints.hpp"
#include "sluice/planners/zero_offload/offloaded_step.hpp"
#include "sluice/planners/zero_offload/strategy.hpp"
#include "sluice/planners/zero_offload/updates_last.hpp"

namespace sluice::planners {
namespace {

struct ZeroOffloadConfig {
  int checkpoints = 0;
  double share = 100;
};

const Settings& zero_offload_settings() {
  using Config = ZeroOffloadConfig;
  static const Settings all{
      Config{},
      {setting<&Config::checkpoints>(
           {"checkpoints",
            "activations inside segments of so many layers are made again in the backward pass; 0: they stay",
            "figure 5.2", 0, 1024}),
       setting<&Config::share>({"share",
                                "so many per cent of the parameters are updated on the host, and those whose gradients "
                                "come last on the device",
                                "ours", 0, 100})}};
  return all;
}

// The nearest one that has links to and from the host's memory.
std::optional<SlowTier> file_behind(const memory::Machine& machine, memory::TierId memory) {
  for (memory::TierId id = memory + 1; id < as_id<memory::TierId>(machine.tiers.size()); ++id) {
    const auto outward = machine.link_between(memory, id), inward = machine.link_between(id, memory);
    if (outward && inward) return SlowTier{.id = id, .outward = *outward, .inward = *inward};
  }
  return std::nullopt;
}

Result<Host> find_host(const memory::Machine& machine) {
  SLUICE_ASSIGN(const std::vector<SlowTier> slow, find_slow_tiers("zero-offload", machine));
  for (ProcessorId id = 1; id < as_id<ProcessorId>(machine.processor_count()); ++id) {
    for (const SlowTier& tier : slow) {
      if (machine.addresses(id, tier.id)) return Host{id, tier, file_behind(machine, tier.id)};
    }
  }
  return Error{ErrorCode::kUnsupported,
               "zero-offload needs a processor beside the main one that computes in a slow tier, to run the optimizer: "
               "name both, such as --slow pcie3 --processors device:1:dram,host:1:pcie3"};
}

// By tensor: a parameter in the layout in which ranks part it.
std::vector<bool> parted_copies(const graph::Graph& graph) {
  std::vector<bool> copies(graph.tensors().size(), false);
  for (const graph::Op& op : graph.ops()) {
    if (op.kind == graph::OpKind::kOwnPart) copies[as_index(op.inputs[0])] = true;
    if (op.kind == graph::OpKind::kAllGather) copies[as_index(op.outputs[0])] = true;
  }
  return copies;
}

// The optimizer's ops, but those between a parameter on the device and the part of it that a rank updates.
bool is_of_host(const graph::Op& op, const std::vector<bool>& parted) {
  const bool copies =
      op.kind == graph::OpKind::kReorder && (parted[as_index(op.inputs[0])] || parted[as_index(op.outputs[0])]);
  return op.phase == graph::Phase::kUpdate && op.kind != graph::OpKind::kOwnPart &&
         op.kind != graph::OpKind::kAllGather && !copies;
}

// Where the passes' processor need not wait for other ranks: one named so.
ProcessorId network_of(const memory::Machine& machine) {
  const auto found = std::ranges::find(machine.processors, "network", &memory::Processor::name);
  return found == machine.processors.end() ? 0 : as_id<ProcessorId>(found - machine.processors.begin());
}

std::vector<graph::OpIndex> own_order(graph::OpIndex op_count) {
  std::vector<graph::OpIndex> order(as_index(op_count));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// By tensor: what the device updates, beside the host's `share` of the parameters, and their gradients and states.
std::vector<bool> updated_on_device(const graph::Graph& graph, double share) {
  std::vector<bool> stays(graph.tensors().size(), false);
  double all = 0, seen = 0;
  const auto elements = [&](const graph::Op& op) {
    return static_cast<double>(graph::element_count(graph.tensor(op.inputs[0]).shape));
  };
  for (const graph::Op& op : graph.ops()) all += graph::is_update(op.kind) ? elements(op) : 0;
  for (const graph::Op& op : graph.ops()) {
    if (!graph::is_update(op.kind)) continue;
    seen += elements(op);
    if (seen <= share * all) continue;
    for (const auto* operands : {&op.inputs, &op.outputs}) {
      for (const graph::TensorId id : *operands) stays[as_index(id)] = true;
    }
  }
  return stays;
}

bool touches(const graph::Op& op, const std::vector<bool>& tensors) {
  const auto marked = [&](graph::TensorId id) { return tensors[as_index(id)]; };
  return std::ranges::any_of(op.inputs, marked) || std::ranges::any_of(op.outputs, marked);
}

// Of an op whose operands lie as another backend's kernels want them.
Status check_kernels(const graph::Graph& graph, const memory::Machine& machine,
                     const std::vector<graph::OpChoice>& choices) {
  for (graph::OpIndex op = 0; op < graph.op_count(); ++op) {
    const ProcessorId chosen = choices[as_index(op)].processor;
    if (std::ranges::find(graph.op(op).no_kernel_on, chosen) == graph.op(op).no_kernel_on.end()) continue;
    return Error{ErrorCode::kUnsupported, fmt::format("zero-offload: processor '{}' has no kernel for {}",
                                                      machine.processors[as_index(chosen)].name, graph.op(op).name)};
  }
  return {};
}

// What all updates read would have to be on both sides at once.
Status check_share(const graph::Graph& graph, double share) {
  const bool together = std::ranges::any_of(graph.ops(), [](const graph::Op& op) {
    return graph::is_update(op.kind) && (graph::is_clipped(op) || op.as<graph::UpdateAttributes>().delayed);
  });
  if (share >= 1 || !together) return {};
  return Error{
      ErrorCode::kUnsupported,
      "zero-offload:share below 100 does not go with --clip-norm, --delay-updates and fp16, whose updates all read "
      "one factor or flag"};
}

std::vector<graph::OpChoice> choices_with(const graph::Graph& graph, ProcessorId host, ProcessorId network,
                                          double share) {
  const std::vector<bool> parted = parted_copies(graph), stays = updated_on_device(graph, share);
  std::vector<graph::OpChoice> choices;
  for (const graph::Op& op : graph.ops()) {
    const bool of_host = is_of_host(op, parted) && !touches(op, stays);
    choices.push_back({0, of_host ? host : graph::is_collective(op) ? network : op.processor});
  }
  return choices;
}

// "gradients, masters, moments, update: 2.0 MiB of model states stay, 4.0 MiB a step over the link".
std::string describe(const Assignment& assignment) {
  std::string names;
  for (std::size_t node = 0; node < kStateNodes; ++node) {
    if (!assignment.on_host[node]) continue;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", to_string(static_cast<StateNode>(node)));
  }
  return fmt::format("{}: {} of model states stay, {} a step over the link", names.empty() ? "nothing" : names,
                     format_bytes(assignment.device_bytes), format_bytes(assignment.volume));
}

// "30.5 MiB of the optimizer's states, in 12 tensors".
std::string describe_filed(const graph::Graph& graph, const Host& host, const plan::Plan& plan) {
  Bytes bytes = 0;
  int tensors = 0;
  for (const plan::Residency& each : plan.residencies) {
    if (each.tier != host.file->id) continue;
    bytes += graph.tensor(each.tensor).bytes;
    ++tensors;
  }
  return fmt::format("{} of the optimizer's states, in {} tensors", format_bytes(bytes), tensors);
}

// What of the host and of the link each parameter takes.
void describe_costs(const graph::Graph& graph, const Host& host, plan::Plan& plan) {
  double parameters = 0, moved = 0, filed = 0;
  for (const graph::Op& op : graph.ops()) {
    if (graph::is_update(op.kind))
      parameters += static_cast<double>(graph::element_count(graph.tensor(op.inputs[0]).shape));
  }
  for (const plan::Migration& each : plan.migrations) {
    const bool by_device = std::ranges::any_of(std::array{each.from, each.to}, [&](plan::ResidencyIndex side) {
      return plan.residencies[side].tier == memory::kFastTier;
    });
    (by_device ? moved : filed) += static_cast<double>(graph.tensor(each.tensor).bytes);
  }
  Bytes held = 0;
  for (const plan::Residency& each : plan.residencies) {
    if (each.tier == host.tier.id) held = std::max(held, each.offset + plan::stored_bytes(graph.tensor(each.tensor)));
  }
  const auto per_parameter = [&](double bytes) { return fmt::format("{:.2f}", bytes / std::max(1.0, parameters)); };
  plan.planner_config.emplace_back("host_bytes_per_parameter", per_parameter(static_cast<double>(held)));
  plan.planner_config.emplace_back("link_bytes_per_parameter", per_parameter(moved));
  if (filed == 0) return;
  plan.planner_config.emplace_back("on_file", describe_filed(graph, host, plan));
  plan.planner_config.emplace_back("file_bytes_per_parameter", per_parameter(filed));
}

Result<plan::Plan> plan_zero_offload(const PlanRequest& request) {
  SLUICE_ASSIGN(const Host host, find_host(request.machine));
  const graph::Graph& graph = request.graph;
  const auto config = config_of<ZeroOffloadConfig>(request);
  const double segment = config.checkpoints;
  const double share = config.share / 100;
  SLUICE_RETURN_IF_ERROR(check_share(graph, share));
  PlanRequest asked = request;
  SLUICE_ASSIGN(std::vector<graph::OpIndex> order,
                segment > 0 ? schedule_with_checkpoints(graph, segment, "zero-offload")
                            : Result<std::vector<graph::OpIndex>>(own_order(graph.op_count())));
  asked.schedule = graph::updates_may_run_last(graph) ? updates_last(graph, std::move(order)) : std::move(order);
  asked.choices = choices_with(graph, host.processor, network_of(request.machine), share);
  SLUICE_RETURN_IF_ERROR(check_kernels(graph, request.machine, asked.choices));
  const RescheduledRequest step(asked);
  SLUICE_ASSIGN(plan::Plan plan, plan_offloaded_step(step.request(), host));
  describe_costs(step.request().graph, host, plan);
  plan = step.for_given_graph(std::move(plan));
  int row = 0;
  for (const Assignment& each : offload_strategies(state_flow(graph))) {
    plan.planner_config.emplace_back(fmt::format("on_host_{}", row++), describe(each));
  }
  return plan;
}

}  // namespace

PlannerEntry zero_offload_planner() {
  return {.name = "zero-offload",
          .summary = "gradients, optimizer state and optimizer on the host (Ren et al. 2021)",
          .plan = plan_zero_offload,
          .traits = {.profiles = true,
                     .moves = true,
                     .recomputes = true,
                     .reorders = true,
                     .whole_step = true,
                     .all_tensors = true,
                     .several_tiers = true},
          .settings = zero_offload_settings(),
          .gives_ops_to_processors = true};
}

}  // namespace sluice::planners
