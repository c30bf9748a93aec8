// A Program with everything that depends on addresses and bandwidths looked up once, before the first step.
#pragma once

#include <vector>

#include "sluice/memory/transfer/tier_storage.hpp"
#include "sluice/profile/memory_time.hpp"
#include "sluice/program/program.hpp"

namespace sluice::exec {

struct ResolvedProgram {
  std::vector<std::vector<void*>> operands;      // by OpIndex: inputs then outputs
  std::vector<profile::MemorySeconds> emulated;  // by OpIndex: how long the op waits for operands in emulated tiers
  std::vector<Bytes> link_bytes;                 // by LinkId: moved in one step
};

ResolvedProgram resolve_program(const graph::Graph& graph, const memory::Machine& machine,
                                const program::Program& program, const memory::TierStorages& storages);

}  // namespace sluice::exec
