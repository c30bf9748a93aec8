#include "sluice/exec/resolved_program.hpp"

#include "sluice/profile/cost_model.hpp"

namespace sluice {
namespace {

std::vector<void*> operand_pointers(const Machine& machine, const ComputeInstruction& instruction,
                                    const TierStorages& storages) {
  std::vector<void*> pointers;
  for (const Location& operand : instruction.operands) {
    std::byte* base = storages.base(operand.tier);
    SLUICE_CHECK(base != nullptr, "ops cannot address tier " + machine.tier(operand.tier).name);
    pointers.push_back(base + operand.offset);
  }
  return pointers;
}

// Real memory is as slow as it is; only emulated tiers have a delay to add.
Seconds injected_delay(const Graph& graph, const Machine& machine, const ComputeInstruction& instruction) {
  std::vector<TierId> tiers;
  for (const Location& operand : instruction.operands) {
    tiers.push_back(machine.tier(operand.tier).emulated() ? operand.tier : kFastTier);
  }
  return slow_access_seconds(graph, machine, instruction.op, tiers);
}

// Where an output is after the step: where its last op left it, unless it was moved after that.
std::vector<std::optional<Location>> locations_between_steps(const Graph& graph, const Program& program) {
  std::vector<std::optional<Location>> locations(graph.tensors().size());
  std::vector<OpIndex> last_op(graph.tensors().size(), kStepStart);
  for (const ComputeInstruction& instruction : program.compute) {
    const Op& op = graph.op(instruction.op);
    for (std::size_t output = 0; output < op.outputs.size(); ++output) {
      const auto tensor = static_cast<std::size_t>(op.outputs[output]);
      if (graph.tensors()[tensor].role != Role::kOutput) continue;
      locations[tensor] = instruction.operands[op.inputs.size() + output];
      last_op[tensor] = instruction.op;
    }
  }
  for (const TransferInstruction& transfer : program.transfers) {
    const auto tensor = static_cast<std::size_t>(transfer.tensor);
    if (locations[tensor].has_value() && transfer.after_op >= last_op[tensor]) locations[tensor] = transfer.to;
  }
  for (std::size_t tensor = 0; tensor < locations.size(); ++tensor) {
    if (is_persistent(graph.tensors()[tensor].role)) locations[tensor] = program.step_start[tensor];
  }
  return locations;
}

}  // namespace

ResolvedProgram resolve_program(const Graph& graph, const Machine& machine, const Program& program,
                                const TierStorages& storages) {
  ResolvedProgram resolved;
  for (const ComputeInstruction& instruction : program.compute) {
    resolved.operands.push_back(operand_pointers(machine, instruction, storages));
    resolved.delays.push_back(injected_delay(graph, machine, instruction));
  }
  resolved.link_bytes.resize(machine.links.size());
  for (const TransferInstruction& transfer : program.transfers) {
    resolved.link_bytes[static_cast<std::size_t>(transfer.link)] += transfer.bytes;
  }
  resolved.between_steps = locations_between_steps(graph, program);
  return resolved;
}

}  // namespace sluice
