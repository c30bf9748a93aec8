// Schedules in which some of what the forward pass makes is forgotten after its last reader there, and made again in the
// backward pass, right before the op that misses it first.
//
//   forward     0 a   1 b   2 c   3 d        forgotten: b, c
//   backward    d'   1 b   2 c   c'   b'     c' misses c, which is made of b, which is forgotten, too; b' finds it there
//
// What is made again is made by the ops that made it, in the graph's order; what they miss themselves is made again
// before, and stays until its own last reader. Where a repeated op overwrites what others still need (ops that write in
// place), the later writers are repeated as well.
//
// Used by chen-sqrt, which makes a whole segment again at once, and by planners that choose for each value by itself.
// Cost: linear in the step's operands for each op that misses something.
#pragma once

#include <functional>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/graph/graph.hpp"
#include "sluice/graph/value_numbers.hpp"

namespace sluice::planners {

// What an op writes into a tensor.
struct OpValue {
  graph::OpIndex writer = graph::kBeforeTheStep;
  graph::TensorId tensor = 0;
};

// By op, as its inputs: the values that it reads in the graph's own order.
std::vector<std::vector<OpValue>> values_read(const graph::Graph& graph);

inline constexpr int kByItself = -1;

struct Rematerialization {
  // Whether a value is forgotten, where it can be made again.
  std::function<bool(const OpValue&)> forgets;
  // With the first value that is missed, all of its group are made again that somebody still reads; kByItself: no other.
  std::function<int(graph::OpIndex writer)> group = [](graph::OpIndex) { return kByItself; };
  // In a step of several batches: of each batch, where its backward pass begins; else of the first alone.
  bool in_every_batch = false;
};

// Whether what the op writes into the tensor can be made again at all: the op may repeat, and the tensor is neither
// persistent nor the caller's.
bool can_be_rematerialized(const graph::Graph& graph, const OpValue& value);

// kUnsupported where a value is needed again that nothing can make again; `planner` begins the message.
Result<std::vector<graph::OpIndex>> schedule_rematerialization(const graph::Graph& graph,
                                                               const Rematerialization& rematerialization,
                                                               std::string_view planner);

}  // namespace sluice::planners
