// The cheapest way to split nodes into two sides, when it costs something for a node to be on a side and for two nodes
// to be apart.
#pragma once

#include <cstdint>
#include <vector>

#include "sluice/base/as_index.hpp"

namespace sluice::graph {

// A network of arcs with capacities, cut between a source and a sink: the sum of the capacities of the arcs that lead
// from the source's side to the sink's is the least possible. By augmenting along shortest paths in levels (Dinic,
// 1970); for networks of a few thousand nodes.
class MinimumCut {
 public:
  static constexpr std::int64_t kNever = std::int64_t{1} << 50;  // a capacity that no cut goes through

  explicit MinimumCut(int nodes) : arcs_of_(as_index(nodes)) {}

  int add_node();
  void add_arc(int from, int to, std::int64_t capacity);
  // By node: whether it is on the source's side. Of several cheapest cuts it is the one with the fewest nodes on the
  // source's side.
  std::vector<bool> source_side(int source, int sink) &&;

 private:
  struct Arc {
    int to = 0;
    std::int64_t left = 0;  // of its capacity
  };

  bool find_levels(int source, int sink);
  std::vector<int> find_way(int source, int sink);
  void use_up(const std::vector<int>& way);

  std::vector<Arc> arcs_;                  // each followed by its reverse
  std::vector<std::vector<int>> arcs_of_;  // by node: what leaves it
  std::vector<int> level_;                 // by node: arcs from the source that have capacity left; -1 beyond reach
  std::vector<std::size_t> next_;          // by node: the first arc not known to be used up
};

}  // namespace sluice::graph
