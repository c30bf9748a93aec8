// The memory nodes of the machine that run_in_vm.sh makes, by what they are there for.
#pragma once

#include <optional>

#include "sluice/base/check.hpp"
#include "sluice/memory/numa_topology.hpp"

namespace sluice::tests {

struct MachineNodes {
  memory::NumaTopology topology;
  memory::NumaNode fast;          // with the processors
  memory::NumaNode slow;          // 1 GiB
  memory::NumaNode small;         // 128 MiB
  std::optional<int> memoryless;  // only without HMAT
};

inline MachineNodes machine_nodes() {
  MachineNodes nodes;
  nodes.topology = memory::read_numa_topology().value();
  const std::vector<int> ids = nodes.topology.with_memory();
  SLUICE_CHECK(ids.size() == 3, "three nodes with memory: run this with tests/numa/run_in_vm.sh");
  nodes.fast = *nodes.topology.find(ids[0]);
  nodes.slow = *nodes.topology.find(ids[1]);
  nodes.small = *nodes.topology.find(ids[2]);
  for (const memory::NumaNode& node : nodes.topology.nodes) {
    if (node.memory == 0) nodes.memoryless = node.id;
  }
  return nodes;
}

inline std::string numa_tier(const memory::NumaNode& node) { return "numa:" + std::to_string(node.id); }

}  // namespace sluice::tests
