// Lowering: from a logical graph to the graph that oneDNN's kernels run.
//
// Ops are taken in order. A kernel is made for what is known about the layouts so far. A tensor gets its layout from
// its first op: the op that writes it or, for parameters, the op that reads it. So weights lie as the forward
// convolution likes. Where a later kernel wants other bytes, a kReorder op goes before it (after it, for a gradient,
// which must lie like its parameter). Later ops use a reordered copy again until its source is overwritten. A kReshape
// becomes a view: another shape of the same storage, after a reorder to row-major where that is needed. A kCast of
// weights is put off until the first op that reads its result, and writes the layout that this op wants. Last,
// workspaces are appended and in-place pairs merged.
#pragma once

#include <memory>
#include <vector>

#include "sluice/exec/backends/onednn/kernel.hpp"

namespace sluice {

struct LoweredGraph {
  Graph graph;
  std::vector<Layout> layouts;                   // by TensorId
  std::vector<std::shared_ptr<Kernel>> kernels;  // by OpIndex; equal ops share one
};

// Throws dnnl::error where oneDNN has no kernel for an op.
LoweredGraph lower_to_onednn(const Graph& logical, const dnnl::engine& engine);

// The same kernels and layouts for the ops in another order. A batch norm that runs again gets a kernel of its apply
// part, for the same layouts.
LoweredGraph reschedule_kernels(const LoweredGraph& lowered, const Rescheduled& step, const dnnl::engine& engine);

}  // namespace sluice
