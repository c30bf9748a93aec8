#include "sluice/graph/rewrite/minimum_cut.hpp"

#include <algorithm>
#include <limits>

#include "sluice/base/as_index.hpp"

namespace sluice::graph {
namespace {}  // namespace

int MinimumCut::add_node() {
  arcs_of_.emplace_back();
  return count_of(arcs_of_) - 1;
}

void MinimumCut::add_arc(int from, int to, std::int64_t capacity) {
  arcs_of_[as_index(from)].push_back(count_of(arcs_));
  arcs_.push_back({to, capacity});
  arcs_of_[as_index(to)].push_back(count_of(arcs_));
  arcs_.push_back({from, 0});
}

// Breadth-first distances from the source over arcs with capacity left: the level graph of Dinic's algorithm.
bool MinimumCut::find_levels(int source, int sink) {
  level_.assign(arcs_of_.size(), -1);
  level_[as_index(source)] = 0;
  std::vector<int> reached{source};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (const int index : arcs_of_[as_index(reached[i])]) {
      const Arc& arc = arcs_[as_index(index)];
      if (arc.left == 0 || level_[as_index(arc.to)] >= 0) continue;
      level_[as_index(arc.to)] = level_[as_index(reached[i])] + 1;
      reached.push_back(arc.to);
    }
  }
  return level_[as_index(sink)] >= 0;
}

// The arcs of a way to the sink, each leading to the next level; none when there is no way left.
std::vector<int> MinimumCut::find_way(int source, int sink) {
  std::vector<int> way;
  for (int node = source; node != sink;) {
    std::size_t& next = next_[as_index(node)];
    const std::vector<int>& arcs = arcs_of_[as_index(node)];
    const auto leads_on = [&](int index) {
      const Arc& arc = arcs_[as_index(index)];
      return arc.left > 0 && level_[as_index(arc.to)] == level_[as_index(node)] + 1;
    };
    while (next < arcs.size() && !leads_on(arcs[next])) ++next;
    if (next < arcs.size()) {
      way.push_back(arcs[next]);
      node = arcs_[as_index(arcs[next])].to;
    } else if (way.empty()) {
      break;
    } else {
      node = arcs_[as_index(way.back() ^ 1)].to;
      way.pop_back();
      ++next_[as_index(node)];
    }
  }
  return way;
}

void MinimumCut::use_up(const std::vector<int>& way) {
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const int index : way) most = std::min(most, arcs_[as_index(index)].left);
  for (const int index : way) {  // the arc back has the neighbouring index: index ^ 1
    arcs_[as_index(index)].left -= most;
    arcs_[as_index(index ^ 1)].left += most;
  }
}

std::vector<bool> MinimumCut::source_side(int source, int sink) && {
  // Dinic: block every shortest way, then look for longer ones; what the source still reaches is its side of the cut.
  while (find_levels(source, sink)) {
    next_.assign(arcs_of_.size(), 0);
    for (std::vector<int> way; !(way = find_way(source, sink)).empty();) use_up(way);
  }
  std::vector<bool> reached;
  for (const int level : level_) reached.push_back(level >= 0);
  return reached;
}

}  // namespace sluice::graph
