// What the graph alone says about when tensors are needed: uses, live ranges, layer spans, short- or long-lived.
#pragma once

#include <span>
#include <vector>

#include "sluice/base/id_vector.hpp"
#include "sluice/graph/graph.hpp"

namespace sluice::graph {

// One op's use of a tensor. An in-place update is one use that both reads and writes.
struct Use {
  OpIndex op = 0;
  bool reads = false;
  bool writes = false;
};

// A maximal run of consecutive ops of one model layer in one direction (forward, or backward with its updates).
// A step of an L-layer model has about 2L spans: Sentinel's "layers" when it cuts a step into intervals.
struct LayerSpan {
  LayerIndex layer = 0;
  bool backward = false;
  Interval<OpIndex> ops;
};

struct Liveness {
  IdVector<TensorId, std::vector<Use>> uses;     // ascending op, one entry per op
  IdVector<TensorId, Interval<OpIndex>> ranges;  // persistent tensors and kOutput: see below
  IdVector<int, LayerSpan> spans;                // in execution order, covering all ops
  IdVector<OpIndex, int> span_of_op;
  IdVector<TensorId, bool> short_lived;  // not persistent and live within one span
};
// ranges: [first use, one past last use); a persistent tensor is live over the whole step [0, op_count); an output
// from its first use to op_count. A tensor without uses has an empty range.

Liveness analyze_liveness(const Graph& graph);

// By OpIndex: bytes that live while the op runs, of the tensors whose `bytes` (by TensorId) are above 0.
std::vector<Bytes> live_bytes(const Liveness& liveness, std::span<const Bytes> bytes);

// Distinct tensors of an op, inputs first, in operand order.
std::vector<TensorId> distinct_operands(const Op& op);

}  // namespace sluice::graph
