// Which of AutoTM's kernels (nGraph's) do the work of one of our ops, and which of its operands each of them uses.
//
// Most ops are one kernel. Ours fuse what nGraph runs one after the other; such an op is several kernels, and what one
// hands to the next lies inside the op, in DRAM:
//
//   batch norm with a residual        BatchNormTraining, Add, Relu
//   gradient of a batch norm + ReLU   ReluBackprop (its mask read from x, ours keeps no other), BatchNormTrainingBackprop
//   gradient of dense weights + bias  MatmulBias, Sum
//   SGD with momentum                 Add (to the momentum), Add (to the weights)
//
// A batch norm's scale and shift (and mean and variance) are one tensor of ours and two of nGraph's. Its running
// statistics, workspaces, and whatever else no kernel uses are in no part. An op without any part has no kernel there.
#pragma once

#include <string_view>
#include <vector>

#include "sluice/graph/graph.hpp"

namespace sluice::benchmarks::autotm {

inline constexpr graph::TensorId kInside = -1;  // no tensor of the graph: always in DRAM

struct PartOperand {
  graph::TensorId tensor = kInside;
  graph::Shape shape;  // as the kernel sees it, all of 4 bytes an element
};

struct KernelPart {
  std::vector<std::string_view> ops;  // nGraph's names that do it, the best first
  std::vector<PartOperand> inputs;    // in nGraph's order
  std::vector<PartOperand> outputs;
};

// `op` of `graph`, logical or executable. In the order in which they run.
std::vector<KernelPart> parts_of(const graph::Graph& graph, const graph::Op& op);

}  // namespace sluice::benchmarks::autotm
