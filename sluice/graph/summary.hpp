// A graph in a few numbers: counts, parameters, bytes by role, floating-point operations.
#pragma once

#include <map>

#include "sluice/graph/graph.hpp"

namespace sluice::graph {

struct GraphSummary {
  OpIndex ops = 0;
  TensorId tensors = 0;
  std::size_t layers = 0;
  std::int64_t parameters = 0;  // trained elements
  std::map<Role, Bytes> bytes;  // sum over all tensors of the role, whether or not they live at once
  double flops = 0;             // two per multiply-add of convolutions and matrix products; other ops are not counted
};

GraphSummary summarize(const Graph& graph);

// Floating-point operations of one op; 0 for all but convolutions and matrix products (dense, kMatMul, the recurrent
// part of an LSTM cell), forward and backward.
double flops(const Graph& graph, const Op& op);

}  // namespace sluice::graph
