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

MemorySeconds emulated_waits(const Graph& graph, const Machine& machine, const OpTraffic& traffic,
                             const ComputeInstruction& instruction) {
  std::vector<TierId> tiers;
  for (const Location& operand : instruction.operands) tiers.push_back(operand.tier);
  return emulated_seconds(graph, machine, traffic, instruction.op, tiers);
}

}  // namespace

ResolvedProgram resolve_program(const Graph& graph, const Machine& machine, const Program& program,
                                const TierStorages& storages) {
  const OpTraffic traffic(graph, machine.cache_bytes);
  ResolvedProgram resolved;
  for (const ComputeInstruction& instruction : program.compute) {
    resolved.operands.push_back(operand_pointers(machine, instruction, storages));
    resolved.emulated.push_back(emulated_waits(graph, machine, traffic, instruction));
  }
  resolved.link_bytes.resize(machine.links.size());
  for (const TransferInstruction& transfer : program.transfers) {
    resolved.link_bytes[static_cast<std::size_t>(transfer.link)] += transfer.bytes;
  }
  return resolved;
}

}  // namespace sluice
