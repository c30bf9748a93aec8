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

#include "sluice/kernels/onednn/kernel/kernel.hpp"

namespace sluice::kernels {

// What an op's kernels are made of: one request for each of its implementations, with the layouts of the first one. A
// reorder has none: its layouts say all.
using OpRequests = std::vector<KernelRequest>;

struct LoweredGraph {
  graph::Graph graph;
  std::vector<Layout> layouts;                   // by TensorId
  std::vector<std::shared_ptr<Kernel>> kernels;  // by OpIndex; equal ops share one
  std::vector<OpRequests> requests;              // by OpIndex
};

// `threads` by processor; kernels are the main one's. Ops get the implementations that can take each other's place, and
// workspaces that are large enough on every processor. Throws dnnl::error where oneDNN has no kernel for an op, or none
// on another processor in the layouts that the main one uses.
LoweredGraph lower_to_onednn(const graph::Graph& logical, const dnnl::engine& engine, const std::vector<int>& threads);

// The same layouts for the ops in another order, by other implementations and on other processors. Kernels of the main
// processor's first implementations are shared with `lowered`; those of two processors are never one, because they run
// at the same time. A batch norm that runs again gets a kernel of its apply part, for the same layouts.
LoweredGraph reschedule_kernels(const LoweredGraph& lowered, const graph::Rescheduled& step, const dnnl::engine& engine,
                                const std::vector<int>& threads);

}  // namespace sluice::kernels
