// Orders of a step's ops in which each op reads the values that it reads in the graph's own order, made from a priority
// for each op.
//
//   0 a = conv x   1 b = relu a   2 c = conv x   3 d = b + c          priorities 5 1 0 2: 2 0 1 3
//
// An op runs behind those that make what it reads, and, since tensors are written over, behind the readers and writers
// of what it overwrites that come before it in the graph. Any order that keeps these pairs is a right one
// (plan/verify/same_values.hpp), so a list schedule of whatever priorities is: of the ops that may run, the one with
// the least goes first.
//
// Cost: as many steps as there are pairs, times log(ops). Threads: const functions may be called at once.
#pragma once

#include <span>
#include <vector>

#include "sluice/graph/graph.hpp"

namespace sluice::planners {

class OpOrders {
 public:
  explicit OpOrders(const graph::Graph& graph);

  // `priorities` by op. Of equal ones the graph's first goes first.
  std::vector<graph::OpIndex> by_priority(std::span<const double> priorities) const;

  // Whether each op comes once and behind those that it must come behind.
  bool is_valid(std::span<const graph::OpIndex> order) const;

 private:
  void add_pair(graph::OpIndex before, graph::OpIndex after);

  std::vector<std::vector<graph::OpIndex>> behind_;  // by op: those that run behind it
  std::vector<int> waits_for_;                       // by op: how many it runs behind
};

}  // namespace sluice::planners
