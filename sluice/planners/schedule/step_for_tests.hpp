// Steps and machines made up for tests of planners.
#pragma once

#include <string>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/graph.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/planners/schedule/slow_tier.hpp"

namespace sluice::testing {

// Fast memory and a tier beside it, joined both ways at 1 GB/s without latency. Ops read and write the second tier at
// the same speed.
// With `farther` a third tier behind it that is read at a quarter of that, by links of its own.
inline memory::Machine machine_with(memory::TierKind slow, bool farther) {
  memory::Machine machine;
  machine.cpu = "test";
  machine.tiers = {{.name = "dram", .capacity = kGiB, .read_bandwidth = 1e12, .write_bandwidth = 1e12},
                   {.name = "slow",
                    .kind = slow,
                    .capacity = kGiB,
                    .read_bandwidth = 1e9,
                    .write_bandwidth = 1e9,
                    .addressable = slow != memory::TierKind::kFile}};
  machine.links = {{.from = 0, .to = 1, .bandwidth = 1e9}, {.from = 1, .to = 0, .bandwidth = 1e9}};
  if (!farther) return machine;
  machine.tiers.push_back(machine.tiers[1]);
  machine.tiers[2].read_bandwidth /= 4;
  machine.links.push_back({.from = 0, .to = 2, .bandwidth = 1e9});
  machine.links.push_back({.from = 2, .to = 0, .bandwidth = 1e9});
  return machine;
}

inline constexpr planners::SlowTier kSlowOfTests{.id = 1, .outward = 0, .inward = 1};
inline constexpr planners::SlowTier kFartherOfTests{.id = 2, .outward = 2, .inward = 3};

// A graph with one layer per op, or with one layer for all ops. Each text gives a tensor's uses by op: 'w' writes, 'r'
// reads, 'u' updates in place, '.' does not use it. A text that begins with '*' is a parameter.
inline graph::Graph step_of_uses(const std::vector<std::string>& tensors, Bytes bytes, bool one_layer = false) {
  graph::Graph graph;
  graph.name = "uses";
  std::vector<std::string> uses = tensors;
  for (std::string& each : uses) {
    const bool persistent = each.front() == '*';
    if (persistent) each.erase(0, 1);
    graph::Tensor tensor;
    tensor.name = "t";
    tensor.role = persistent ? graph::Role::kParameter : graph::Role::kActivation;
    tensor.bytes = bytes;
    tensor.shape = {bytes / 4};
    graph.add_tensor(tensor);
  }
  for (std::size_t op = 0; op < uses.front().size(); ++op) {
    graph.layers.push_back("layer" + std::to_string(op));
    std::vector<graph::TensorId> inputs, outputs;
    for (std::size_t id = 0; id < uses.size(); ++id) {
      if (uses[id][op] == 'r' || uses[id][op] == 'u') inputs.push_back(as_id<graph::TensorId>(id));
      if (uses[id][op] == 'w' || uses[id][op] == 'u') outputs.push_back(as_id<graph::TensorId>(id));
    }
    graph::Op instruction;
    instruction.name = "op" + std::to_string(op);
    instruction.kind = graph::OpKind::kAdd;
    instruction.layer = one_layer ? 0 : static_cast<graph::LayerIndex>(op);
    instruction.inputs = inputs;
    instruction.outputs = outputs;
    graph.add_op(instruction);
  }
  return graph;
}

}  // namespace sluice::testing
