// A step with its ops in another order, some of them run more than once, others not at all: what a plan's schedule
// turns the graph into.
//
// A schedule is a list of op indices of the executable graph: entry k says which op runs in slot k. Its graph has an op
// a slot, so that time in slots is time in ops for everyone who works with it.
//
//   graph          0 conv > a    1 relu a > b     2 loss b > c     3 relu' b, c > d    4 conv' a, d > dw
//   schedule       0 1 2 1 3 0 4
//   its graph      conv > a,  relu a > b,  loss b > c,  relu a > b.2,  relu' b.2, c > d,  conv > a.2,  conv' a.2, d > dw
//
// A repeated execution makes new tensors ("a.2"), and whoever reads `a` later reads the newest one. So the room of `a`
// is free between its last reader and its next making. An op that also reads what it writes goes on with the newest.
// A batch norm repeats as its apply part (op_traits.hpp): statistics are kept, and running ones do not move again.
//
// The other way round, an op that only makes again what another has made (value_numbers.hpp) may be left out: its
// readers read what was made first, which is then kept that long.
//
// Nothing is checked here but the indices: whether the ops still read the values that they read in the graph's order is
// for the verifier (plan/verify/same_values.hpp).
#pragma once

#include <span>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/graph/graph.hpp"

namespace sluice::graph {

struct Rescheduled {
  Graph graph;
  std::vector<OpIndex> op_of;       // by slot: the op of the given graph
  std::vector<TensorId> tensor_of;  // by tensor: the one of the given graph; tensors of that graph keep their index
  std::vector<OpChoice> choices;    // by slot: what choose() has changed; empty: ops run as the given graph says
};

// Whether a schedule runs every op once in the graph's order: then it is no different from none.
bool is_own_order(std::span<const OpIndex> schedule, OpIndex op_count);

// Whether the ops of updates may run behind all others, in their order: no other op reads what one before it has written.
bool updates_may_run_last(const Graph& graph);

// kBadInput where an index is none of an op.
Result<Rescheduled> reschedule(const Graph& graph, std::span<const OpIndex> schedule);

}  // namespace sluice::graph
