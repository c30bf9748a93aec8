// A step small enough to draw, with a plan that uses every part of the format. For tests.
//
//   op           0 make     1 first    2 second   3 use        4 update
//                w -> x     - -> m     m -> n     x,n -> loss  w,x -> w
//   dram   0 w   |----------------------------------------------------|
//       4096 x   |---------------------|
//       4096 x                         |------------------------------|
//      12288 m              |---------------------|
//      16384 n                         |---------------------|
//      12288 loss                                 |-------------------|
//   file   0 x              |----------|----------|
//   evict x: issue after 0, needed by 2     prefetch x: issue after 1, needed by 3
#pragma once

#include "sluice/plan/plan.hpp"
#include "sluice/profile/profile.hpp"

namespace sluice::testing {

struct TinyStep {
  enum : graph::TensorId { kW, kX, kM, kN, kLoss };
  enum : plan::ResidencyIndex { kWDram, kXDram, kXFile, kXDramAgain, kMDram, kNDram, kLossDram };
  enum : std::size_t { kEvict, kPrefetch };

  graph::Graph graph;
  memory::Machine machine;
  plan::Plan plan;
};

inline graph::TensorId add_tiny_tensor(graph::Graph& graph, const char* name, graph::Role role, Bytes bytes) {
  graph::Tensor tensor;
  tensor.name = name;
  tensor.role = role;
  tensor.bytes = bytes;
  tensor.shape = {bytes / 4};
  return graph.add_tensor(tensor);
}

inline void add_tiny_op(graph::Graph& graph, const char* name, std::vector<graph::TensorId> inputs,
                        std::vector<graph::TensorId> outputs) {
  graph::Op op;
  op.name = name;
  op.kind = graph::OpKind::kAdd;
  op.inputs = std::move(inputs);
  op.outputs = std::move(outputs);
  graph.add_op(op);
}

// DRAM and a second tier, joined both ways at 1 GB/s without latency.
inline memory::Machine tiny_machine(memory::TierKind slow = memory::TierKind::kFile) {
  memory::Machine machine;
  machine.cpu = "test";
  machine.tiers.resize(2);
  machine.tiers[0].name = "dram";
  machine.tiers[1].name = slow == memory::TierKind::kFile ? "file" : "slow";
  machine.tiers[1].kind = slow;
  machine.tiers[1].addressable = slow != memory::TierKind::kFile;
  for (memory::Tier& tier : machine.tiers) tier.capacity = kGiB;
  machine.links.resize(2);
  machine.links[0].to = 1;
  machine.links[1].from = 1;
  for (memory::Link& link : machine.links) link.bandwidth = 1e9;
  return machine;
}

inline TinyStep tiny_step() {
  using T = TinyStep;
  TinyStep step;
  graph::Graph& graph = step.graph;
  graph.name = "tiny";
  graph.layers = {"all"};
  add_tiny_tensor(graph, "w", graph::Role::kParameter, 4096);
  add_tiny_tensor(graph, "x", graph::Role::kActivation, 8000);
  add_tiny_tensor(graph, "m", graph::Role::kActivation, 4096);
  add_tiny_tensor(graph, "n", graph::Role::kActivation, 4096);
  add_tiny_tensor(graph, "loss", graph::Role::kOutput, 4);
  add_tiny_op(graph, "make", {T::kW}, {T::kX});
  add_tiny_op(graph, "first", {}, {T::kM});
  add_tiny_op(graph, "second", {T::kM}, {T::kN});
  add_tiny_op(graph, "use", {T::kX, T::kN}, {T::kLoss});
  add_tiny_op(graph, "update", {T::kW, T::kX}, {T::kW});
  step.machine = tiny_machine();

  plan::Plan& plan = step.plan;
  plan.graph_name = graph.name;
  plan.graph_fingerprint = graph.fingerprint();
  plan.machine_fingerprint = step.machine.fingerprint();
  plan.planner = "by-hand";
  plan.planner_config = {{"reason", "an example"}};
  plan.budgets = {20480, 1048576};
  plan.arena_bytes = {20480, 8192};
  plan.ops = {{0, {0, 0}}, {0, {0}}, {0, {0, 0}}, {0, {0, 0, 0}}, {0, {0, 0, 0}}};
  plan.residencies = {{T::kW, 0, 0, {0, 5}},       {T::kX, 0, 4096, {0, 2}},  {T::kX, 1, 0, {1, 3}},
                      {T::kX, 0, 4096, {2, 5}},    {T::kM, 0, 12288, {1, 3}}, {T::kN, 0, 16384, {2, 4}},
                      {T::kLoss, 0, 12288, {3, 5}}};
  plan.migrations = {{T::kX, T::kXDram, T::kXFile, 0, 2}, {T::kX, T::kXFile, T::kXDramAgain, 1, 3}};
  return step;
}

// Times of its ops; cold, and by other kernels, the same.
inline profile::Profile tiny_profile() {
  profile::Profile profile;
  profile.op_seconds = {4e-6, 3e-6, 2e-6, 5e-6, 1e-6};
  profile.cold_seconds = profile.op_seconds;
  profile.choices.emplace(graph::OpChoice{1, 0},
                          std::make_shared<const profile::OpTimes>(profile::OpTimes{profile.op_seconds, {}}));
  return profile;
}

}  // namespace sluice::testing
