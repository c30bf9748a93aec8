// A logical graph as the GPU runs it: every tensor row-major, reshapes as views, each op prepared for its shapes.
#pragma once

#include <vector>

#include "sluice/graph/graph.hpp"
#include "sluice/graph/reschedule.hpp"
#include "sluice/kernels/cuda/prepared_op.hpp"

namespace sluice::kernels::cuda {

struct LoweredOp {
  OpRequest request;
  Ways ways;
  std::size_t way = 0;
};

struct LoweredGraph {
  graph::Graph graph;
  std::vector<LoweredOp> ops;  // by OpIndex
};

// Throws gpu::CudaFailure where a library has no kernel.
LoweredGraph lower(const Context& context, const graph::Graph& logical);
LoweredGraph reschedule(const Context& context, const LoweredGraph& lowered, const graph::Rescheduled& step);

}  // namespace sluice::kernels::cuda
