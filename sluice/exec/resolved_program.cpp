#include "sluice/exec/resolved_program.hpp"

#include "sluice/base/as_index.hpp"
#include "sluice/profile/cost_model.hpp"

namespace sluice::exec {
namespace {

std::vector<void*> operand_pointers(const memory::Machine& machine, const program::ComputeInstruction& instruction,
                                    const memory::TierStorages& storages) {
  std::vector<void*> pointers;
  for (const program::Location& operand : instruction.operands) {
    std::byte* base = storages.base(operand.tier);
    SLUICE_CHECK(base != nullptr, "ops cannot address tier " + machine.tier(operand.tier).name);
    pointers.push_back(base + operand.offset);
  }
  return pointers;
}

profile::MemorySeconds emulated_waits(const graph::Graph& graph, const memory::Machine& machine,
                                      const profile::OpTraffic& traffic,
                                      const program::ComputeInstruction& instruction) {
  std::vector<memory::TierId> tiers;
  for (const program::Location& operand : instruction.operands) tiers.push_back(operand.tier);
  return profile::emulated_seconds(graph, machine, traffic, instruction.op, tiers);
}

}  // namespace

ResolvedProgram resolve_program(const graph::Graph& graph, const memory::Machine& machine,
                                const program::Program& program, const memory::TierStorages& storages) {
  const profile::OpTraffic traffic(graph, machine.cache_bytes);
  ResolvedProgram resolved;
  for (const program::ComputeInstruction& instruction : program.compute) {
    resolved.operands.push_back(operand_pointers(machine, instruction, storages));
    resolved.emulated.push_back(emulated_waits(graph, machine, traffic, instruction));
  }
  resolved.link_bytes.resize(machine.links.size());
  for (const program::TransferInstruction& transfer : program.transfers) {
    resolved.link_bytes[as_index(transfer.link)] += transfer.bytes;
  }
  return resolved;
}

}  // namespace sluice::exec
