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
//
// It needs a processor beside the main one that may use a slow tier in place. Parameters without a master (of norms, or
// where all of a step is fp32) go to the host for their update, and come back.
//
// Cost: linear in uses, and the packing. docs/planners/zero-offload.md says what is the paper's and what is ours.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/graph/op_traits.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/rescheduled_request.hpp"
#include "sluice/planners/schedule/checkpoints.hpp"
#include "sluice/planners/schedule/slow_tier.hpp"
#include "sluice/planners/schedule/tensor_schedule.hpp"
#include "sluice/planners/zero_offload/strategy.hpp"
#include "sluice/planners/zero_offload/updates_last.hpp"
#include "sluice/profile/cost_model.hpp"

namespace sluice {
namespace {

const std::vector<PlannerSetting>& zero_offload_settings() {
  static const std::vector<PlannerSetting> all{
      {"checkpoints", "activations inside segments of so many layers are made again in the backward pass; 0: they stay",
       0, 0, 1024, true}};
  return all;
}

struct Host {
  ProcessorId processor = 1;
  SlowTier tier;
};

Result<Host> find_host(const Machine& machine) {
  SLUICE_ASSIGN(const std::vector<SlowTier> slow, find_slow_tiers("zero-offload", machine));
  for (ProcessorId id = 1; id < static_cast<ProcessorId>(machine.processor_count()); ++id) {
    for (const SlowTier& tier : slow) {
      if (machine.addresses(id, tier.id)) return Host{id, tier};
    }
  }
  return Error{ErrorCode::kUnsupported,
               "zero-offload needs a processor beside the main one that computes in a slow tier, to run the optimizer: "
               "name both, such as --slow pcie3 --processors device:1:dram,host:1:pcie3"};
}

// By tensor: a parameter in the layout in which ranks part it.
std::vector<bool> parted_copies(const Graph& graph) {
  std::vector<bool> copies(graph.tensors().size(), false);
  for (const Op& op : graph.ops()) {
    if (op.kind == OpKind::kOwnPart) copies[as_index(op.inputs[0])] = true;
    if (op.kind == OpKind::kAllGather) copies[as_index(op.outputs[0])] = true;
  }
  return copies;
}

// The optimizer's ops, but those between a parameter on the device and the part of it that a rank updates.
bool is_of_host(const Op& op, const std::vector<bool>& parted) {
  const bool copies =
      op.kind == OpKind::kReorder && (parted[as_index(op.inputs[0])] || parted[as_index(op.outputs[0])]);
  return op.phase == Phase::kUpdate && op.kind != OpKind::kOwnPart && op.kind != OpKind::kAllGather && !copies;
}

// Where the passes' processor need not wait for other ranks: one named so.
ProcessorId network_of(const Machine& machine) {
  const auto found = std::ranges::find(machine.processors, "network", &Processor::name);
  return found == machine.processors.end() ? 0 : static_cast<ProcessorId>(found - machine.processors.begin());
}

std::vector<OpIndex> own_order(OpIndex op_count) {
  std::vector<OpIndex> order(as_index(op_count));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<OpChoice> choices_with(const Graph& graph, ProcessorId host, ProcessorId network) {
  const std::vector<bool> parted = parted_copies(graph);
  std::vector<OpChoice> choices;
  for (const Op& op : graph.ops()) {
    const ProcessorId processor = is_of_host(op, parted) ? host : is_collective(op) ? network : op.processor;
    choices.push_back({0, processor});
  }
  return choices;
}

// A step whose updates are the host's: where each tensor is.
class OffloadedStep {
 public:
  OffloadedStep(const PlanRequest& request, const Host& host)
      : graph_(request.graph),
        host_(host),
        costs_(request.graph, request.profile, request.machine),
        liveness_(analyze_liveness(graph_)),
        builder_(graph_, request.machine) {
    Seconds clock = 0;
    for (OpIndex op = 0; op < graph_.op_count(); ++op) {
      begins_.push_back(clock);
      clock += on_host(op) ? 0 : costs_.op_seconds(op);
    }
  }

  Result<Plan> plan(const std::vector<Bytes>& budgets) {
    std::vector<TensorId> leaving;
    for (TensorId id = 0; id < graph_.tensor_count(); ++id) {
      const std::vector<Use>& uses = liveness_.uses[id];
      const auto here = std::ranges::count_if(uses, [&](const Use& use) { return !on_host(use.op); });
      if (here == std::ssize(uses)) {
        add_tensor_schedule(builder_, graph_, liveness_, id, kFastTier, always_fast(liveness_, id, persistent(id)));
      } else if (here == 0) {
        builder_.add_residency(id, host_.tier.id, persistent(id) ? whole_step() : liveness_.ranges[id]);
      } else {
        leaving.push_back(id);
      }
    }
    std::ranges::stable_sort(leaving, {}, [&](TensorId id) { return last_before(id); });
    for (const TensorId id : leaving) SLUICE_RETURN_IF_ERROR(add_leaving(id));
    use_in_place();
    return builder_.finish(budgets);
  }

 private:
  bool on_host(OpIndex op) const { return graph_.op(op).processor == host_.processor; }
  bool persistent(TensorId id) const { return is_persistent(graph_.tensor(id).role); }
  Interval<OpIndex> whole_step() const { return {0, graph_.op_count()}; }

  const Use& first_on_host(TensorId id) const {
    return *std::ranges::find_if(liveness_.uses[id], [&](const Use& use) { return on_host(use.op); });
  }
  OpIndex last_on_host(TensorId id) const {
    OpIndex last = kStepStart;
    for (const Use& use : liveness_.uses[id]) last = on_host(use.op) ? use.op : last;
    return last;
  }
  // Of the passes: the last op before the host's, and the first one behind them; the step's end where there is none.
  OpIndex last_before(TensorId id) const {
    OpIndex last = kStepStart;
    for (const Use& use : liveness_.uses[id]) last = use.op < first_on_host(id).op ? use.op : last;
    return last;
  }
  OpIndex first_behind(TensorId id) const {
    const auto found =
        std::ranges::find_if(liveness_.uses[id], [&](const Use& use) { return use.op > last_on_host(id); });
    return found == liveness_.uses[id].end() ? graph_.op_count() : found->op;
  }

  // The first op of the passes that begins when the link has carried it, or `latest`.
  OpIndex carried_by(TensorId id, OpIndex after, OpIndex latest) {
    const Load load{id, stored_bytes(graph_.tensor(id)), Encoding::kNone};
    const Seconds made = after == kStepStart ? 0 : begins_[as_index(after)] + costs_.op_seconds(after);
    link_free_ = std::max(link_free_, made) + costs_.transfer_seconds(host_.tier.outward, load);
    const auto begin = begins_.begin() + after + 1, end = begins_.begin() + latest;
    return static_cast<OpIndex>(std::lower_bound(begin, end, link_free_) - begins_.begin());
  }

  // It goes to the host once, and comes back once if at all.
  Status check_order(TensorId id) const {
    const bool in_turn = std::ranges::none_of(liveness_.uses[id], [&](const Use& use) {
      return !on_host(use.op) && use.op > first_on_host(id).op && use.op < last_on_host(id);
    });
    if (in_turn) return {};
    return Error{ErrorCode::kUnsupported,
                 fmt::format("zero-offload cannot plan {}: the passes use {} between what the host does with it",
                             graph_.name, graph_.tensor(id).name)};
  }

  // Made by the passes or persistent (a gradient, a parameter), made by the host (a part that other ranks want), or both
  // in turn: on the device but while the host has it, which reads a parameter where there is no master.
  Status add_leaving(TensorId id) {
    SLUICE_RETURN_IF_ERROR(check_order(id));
    const Use& first = first_on_host(id);
    const OpIndex last = last_before(id), updated = last_on_host(id), behind = first_behind(id);
    const OpIndex made = persistent(id) ? 0 : liveness_.ranges[id].begin;
    const OpIndex end = persistent(id) ? graph_.op_count() : liveness_.ranges[id].end;
    const bool was_here = persistent(id) || last != kStepStart;
    const bool comes_back = persistent(id) || behind < graph_.op_count();
    const OpIndex carried = first.reads && was_here ? carried_by(id, last, first.op) : last + 1;
    const OpIndex back = std::min(updated + 1, graph_.op_count() - 1);  // the last op's, too, has room before it comes
    const OpIndex there_from = first.reads && was_here ? last + 1 : first.op;
    ResidencyIndex old = 0;  // a parameter's room is nobody's meanwhile
    if (was_here)
      old = builder_.add_residency(id, kFastTier, {made, persistent(id) ? std::max(carried, back) : carried});
    const ResidencyIndex there =
        builder_.add_residency(id, host_.tier.id, {there_from, persistent(id) ? end : updated + 1});
    if (was_here && first.reads) builder_.add_migration(id, old, there, last, carried, Cause::kForOtherProcessor);
    if (!comes_back) return {};
    const ResidencyIndex next = builder_.add_residency(id, kFastTier, {back, end});
    builder_.add_migration(id, there, next, updated, behind, Cause::kUpdatedElsewhere);
    return {};
  }

  void use_in_place() {
    for (OpIndex op = 0; op < graph_.op_count(); ++op) {
      if (!on_host(op)) continue;
      for (const TensorId id : distinct_operands(graph_.op(op))) builder_.set_tensor_tier(op, id, host_.tier.id);
    }
  }

  const Graph& graph_;
  Host host_;
  CostModel costs_;
  Liveness liveness_;
  PlanBuilder builder_;
  std::vector<Seconds> begins_;  // by op: where the passes are, if nothing makes them wait
  Seconds link_free_ = 0;
};

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

// What of the host and of the link each parameter takes.
void describe_costs(const Graph& graph, const Host& host, Plan& plan) {
  double parameters = 0, moved = 0;
  for (const Op& op : graph.ops()) {
    if (is_update(op.kind)) parameters += static_cast<double>(element_count(graph.tensor(op.inputs[0]).shape));
  }
  for (const Migration& each : plan.migrations) moved += static_cast<double>(graph.tensor(each.tensor).bytes);
  Bytes held = 0;
  for (const Residency& each : plan.residencies) {
    if (each.tier == host.tier.id) held = std::max(held, each.offset + stored_bytes(graph.tensor(each.tensor)));
  }
  const auto per_parameter = [&](double bytes) { return fmt::format("{:.2f}", bytes / std::max(1.0, parameters)); };
  plan.planner_config.emplace_back("host_bytes_per_parameter", per_parameter(static_cast<double>(held)));
  plan.planner_config.emplace_back("link_bytes_per_parameter", per_parameter(moved));
}

Result<Plan> plan_zero_offload(const PlanRequest& request) {
  SLUICE_ASSIGN(const Host host, find_host(request.machine));
  const Graph& graph = request.graph;
  const double segment = request.settings.empty() ? 0 : request.settings.front();
  PlanRequest asked = request;
  SLUICE_ASSIGN(std::vector<OpIndex> order, segment > 0 ? schedule_with_checkpoints(graph, segment, "zero-offload")
                                                        : Result<std::vector<OpIndex>>(own_order(graph.op_count())));
  asked.schedule = updates_may_run_last(graph) ? updates_last(graph, std::move(order)) : std::move(order);
  asked.choices = choices_with(graph, host.processor, network_of(request.machine));
  const RescheduledRequest step(asked);
  SLUICE_ASSIGN(Plan plan, OffloadedStep(step.request(), host).plan(request.budgets));
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
                     .all_tensors = true},
          .settings = zero_offload_settings(),
          .gives_ops_to_processors = true};
}

}  // namespace sluice
