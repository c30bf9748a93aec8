#include "sluice/program/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/plan/verify/verifier.hpp"
#include "sluice/program/hazard_tracker.hpp"
#include "sluice/program/lowered_plan.hpp"

namespace sluice::program {
namespace {

class Lowering {
 public:
  Lowering(const graph::Graph& graph, const memory::Machine& machine, const plan::Plan& plan)
      : graph_(graph),
        machine_(machine),
        plan_(plan),
        hazards_(graph, machine.tiers.size(), plan.migrations.size()),
        block_places_(plan::block_places(plan)),
        residencies_of_(graph.tensors().size()) {
    for (const plan::Residency& residency : plan.residencies)
      residencies_of_[as_index(residency.tensor)].push_back(&residency);
  }

  // In the order in which things are issued: a migration after the op it follows, so that the tracker sees each access
  // to a byte after all those that it must wait for.
  Program run() {
    program_.arena_bytes = plan_.arena_bytes;
    program_.stitches = plan_.stitches;
    program_.staging_begin = plan_.arena_bytes[as_index(memory::kFastTier)] - plan::staging_bytes(plan_);
    program_.lanes.resize(machine_.links.size());
    program_.step_start.resize(graph_.tensors().size());
    std::size_t issued = 0;
    for (graph::OpIndex op = 0; op < graph_.op_count(); ++op) {
      for (; issued < plan_.migrations.size() && plan_.migrations[issued].issue_after < op; ++issued) {
        lower_migration(plan_.migrations[issued]);
      }
      lower_op(op);
    }
    for (; issued < plan_.migrations.size(); ++issued) lower_migration(plan_.migrations[issued]);
    find_boundary_locations();
    return std::move(program_);
  }

 private:
  static Location location(const plan::Residency& residency) { return {residency.tier, residency.offset}; }

  std::vector<HazardTracker::Access> accesses_at(const Location& place, Bytes bytes, bool writes) const {
    std::vector<HazardTracker::Access> accesses;
    const Interval<Bytes> addresses{place.offset, place.offset + bytes};
    const std::span<const memory::Stitch> stitches =
        place.tier == memory::kFastTier ? std::span(plan_.stitches) : std::span<memory::Stitch>();
    for (const Interval<Bytes>& memory : memory::memory_behind(stitches, addresses)) {
      accesses.push_back({place.tier, memory, writes});
    }
    return accesses;
  }

  Location operand_location(graph::OpIndex op, graph::TensorId tensor, memory::TierId tier) const {
    const std::vector<const plan::Residency*>& candidates = residencies_of_[as_index(tensor)];
    const auto found = std::find_if(candidates.begin(), candidates.end(), [&](const plan::Residency* residency) {
      return residency->tier == tier && residency->ops.contains(op);
    });
    SLUICE_CHECK(found != candidates.end(), "in a verified plan '" + graph_.tensor(tensor).name + "' is resident");
    return location(**found);
  }

  void lower_op(graph::OpIndex index) {
    const graph::Op& op = graph_.op(index);
    const std::vector<memory::TierId>& tiers = plan_.ops[as_index(index)].operand_tiers;
    ComputeInstruction instruction{index, {}, {}, {}, op.processor};
    std::vector<HazardTracker::Access> accesses;
    const auto add = [&](graph::TensorId tensor, bool writes) {
      const Location place = operand_location(index, tensor, tiers[instruction.operands.size()]);
      instruction.operands.push_back(place);
      const Bytes bytes = align_up(graph_.tensor(tensor).bytes, plan::kOperandAlignment);
      std::ranges::move(accesses_at(place, bytes, writes), std::back_inserter(accesses));
    };
    for (const graph::TensorId tensor : op.inputs) add(tensor, false);
    for (const graph::TensorId tensor : op.outputs) add(tensor, true);
    Waits waits = hazards_.enter_op(index, accesses);
    instruction.waits = std::move(waits.transfers);
    instruction.op_waits = std::move(waits.ops);
    program_.compute.push_back(std::move(instruction));
  }

  // The first of a run moves the whole block.
  void lower_migration(const plan::Migration& migration) {
    const plan::BlockPlace place = block_places_[as_index(migration.from)];
    if (place.member > 0) return;
    const auto index = as_id<TransferIndex>(program_.transfers.size());
    TransferInstruction transfer;
    transfer.tensor = migration.tensor;
    transfer.from = location(plan_.residencies[as_index(migration.from)]);
    transfer.to = location(plan_.residencies[as_index(migration.to)]);
    const auto link = machine_.link_between(transfer.from.tier, transfer.to.tier);
    SLUICE_CHECK(link.has_value(), "a verified plan migrates only along links");
    transfer.link = *link;
    if (place.block < 0) {
      transfer.bytes = plan::stored_bytes(graph_.tensor(migration.tensor));
    } else {
      const plan::Block& block = plan_.blocks[as_index(place.block)];
      const std::vector<Bytes> offsets = plan::block_offsets(graph_, plan_, block);
      transfer.bytes = offsets.back();
      for (std::size_t i = 1; i < block.members.size(); ++i) {
        transfer.others.push_back({plan_.residencies[as_index(block.members[i])].tensor, offsets[i]});
      }
    }
    transfer.encoded = encoded_side(migration);
    transfer.after_op = migration.issue_after;
    std::vector<HazardTracker::Access> accesses = accesses_at(transfer.from, transfer.bytes, false);
    std::ranges::move(accesses_at(transfer.to, transfer.bytes, true), std::back_inserter(accesses));
    Waits waits = hazards_.enter_transfer(index, transfer.after_op, accesses);
    transfer.waits = std::move(waits.transfers);
    transfer.op_waits = std::move(waits.ops);
    program_.lanes[as_index(transfer.link)].push_back(index);
    program_.transfers.push_back(std::move(transfer));
  }

  plan::ResidencyIndex encoded_side(const plan::Migration& migration) const {
    for (const plan::ResidencyIndex side : {migration.from, migration.to}) {
      if (plan_.residencies[side].encoded()) return side;
    }
    return -1;
  }

  // Where the next step finds a tensor is where this one leaves it: the first residency of what survives the step.
  void find_boundary_locations() {
    const auto starts = plan::start_residencies(graph_, plan_);
    for (std::size_t tensor = 0; tensor < starts.size(); ++tensor) {
      if (starts[tensor].empty()) continue;
      program_.step_start[tensor] = location(plan_.residencies[as_index(starts[tensor].front())]);
    }
    for (const ComputeInstruction& instruction : program_.compute) {  // the last write of an output stays
      const graph::Op& op = graph_.op(instruction.op);
      for (std::size_t i = 0; i < op.outputs.size(); ++i) {
        if (graph_.tensor(op.outputs[i]).role != graph::Role::kOutput) continue;
        program_.step_start[as_index(op.outputs[i])] = instruction.operands[op.inputs.size() + i];
      }
    }
  }

  const graph::Graph& graph_;
  const memory::Machine& machine_;
  const plan::Plan& plan_;
  HazardTracker hazards_;
  std::vector<plan::BlockPlace> block_places_;                       // by ResidencyIndex
  std::vector<std::vector<const plan::Residency*>> residencies_of_;  // by TensorId
  Program program_;
};

}  // namespace

std::vector<std::vector<graph::OpIndex>> compute_lanes(const Program& program) {
  std::vector<std::vector<graph::OpIndex>> lanes(1);
  for (const ComputeInstruction& instruction : program.compute) {
    if (lanes.size() <= as_index(instruction.processor)) lanes.resize(as_index(instruction.processor) + 1);
    lanes[as_index(instruction.processor)].push_back(instruction.op);
  }
  return lanes;
}

Status check_plan(const graph::Graph& graph, const memory::Machine& machine, const plan::Plan& plan) {
  const std::vector<plan::Violation> violations = plan::verify_plan(graph, machine, plan);
  if (violations.empty()) return {};
  std::string message = fmt::format("the plan of '{}' for '{}' cannot be run:", plan.planner, plan.graph_name);
  for (const plan::Violation& violation : violations) {
    message += fmt::format("\n  {}: {}", to_string(violation.rule), violation.message);
  }
  return Error{ErrorCode::kMismatch, message};
}

Result<Program> lower_plan(const graph::Graph& graph, const memory::Machine& machine, const plan::Plan& plan) {
  SLUICE_RETURN_IF_ERROR(check_plan(graph, machine, plan));
  const plan::PlanGraph step(graph, plan);
  return Lowering(step.graph(), machine, plan).run();
}

Result<std::shared_ptr<const LoweredPlan>> LoweredPlan::make(const graph::Graph& graph, const memory::Machine& machine,
                                                             plan::Plan plan) {
  SLUICE_RETURN_IF_ERROR(check_plan(graph, machine, plan));
  std::shared_ptr<LoweredPlan> made(new LoweredPlan(graph, std::move(plan)));
  made->program_ = Lowering(made->graph(), machine, made->plan_).run();
  return std::shared_ptr<const LoweredPlan>(std::move(made));
}

}  // namespace sluice::program
