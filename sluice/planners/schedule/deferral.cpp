#include "sluice/planners/schedule/deferral.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/graph/ops/op_traits.hpp"

namespace sluice::planners {
namespace {

class UpdateGroups {
 public:
  explicit UpdateGroups(const graph::Graph& graph) : graph_(graph), liveness_(graph::analyze_liveness(graph)) {}

  std::vector<UpdateGroup> find() {
    std::vector<UpdateGroup> groups;
    std::set<graph::OpIndex> taken;
    for (graph::OpIndex index = 0; index < graph_.op_count(); ++index) {
      if (!graph::is_update(graph_.op(index).kind) || taken.contains(index)) continue;
      const std::set<graph::OpIndex> ops = with_makers(index);
      taken.insert(ops.begin(), ops.end());
      groups.push_back(group_of(ops));
    }
    return groups;
  }

 private:
  // The op, and for every gradient of a parameter that one of the ops uses all ops that use it. (What makes a copy of a
  // gradient in another layout stays where it is: the copy is held.)
  std::set<graph::OpIndex> with_makers(graph::OpIndex update) const {
    std::set<graph::OpIndex> ops{update};
    std::vector<graph::OpIndex> open{update};
    while (!open.empty()) {
      const graph::Op& op = graph_.op(open.back());
      open.pop_back();
      for (const graph::TensorId id : graph::distinct_operands(op)) {
        if (graph_.tensor(id).role != graph::Role::kGradient) continue;
        for (const graph::Use& use : liveness_.uses[id]) {
          if (ops.insert(use.op).second) open.push_back(use.op);
        }
      }
    }
    return ops;
  }

  UpdateGroup group_of(const std::set<graph::OpIndex>& ops) const {
    UpdateGroup group{.ops = {ops.begin(), ops.end()}, .limit = graph_.op_count()};
    std::set<graph::TensorId> seen;
    for (const graph::OpIndex index : group.ops) {
      for (const graph::TensorId id : graph::distinct_operands(graph_.op(index))) {
        const bool scratch = graph_.tensor(id).role == graph::Role::kWorkspace && liveness_.uses[id].size() == 1;
        if (graph_.tensor(id).role == graph::Role::kGradient || scratch) continue;
        if (seen.insert(id).second) add_operand(group, id);
      }
    }
    return group;
  }

  // Later uses of what the group writes keep their place behind it, and so do writes of what it reads.
  void add_operand(UpdateGroup& group, graph::TensorId id) const {
    const bool persistent = graph::is_persistent(graph_.tensor(id).role);
    (persistent ? group.updated : group.held) += graph_.tensor(id).bytes;
    bool written = false;
    for (const graph::Use& use : liveness_.uses[id]) {
      const bool mine = std::ranges::binary_search(group.ops, use.op);
      written = written || (mine && use.writes);
      if (!mine && use.op > group.ops.front() && (use.writes || written)) group.limit = std::min(group.limit, use.op);
    }
  }

  const graph::Graph& graph_;
  const graph::Liveness liveness_;
};

}  // namespace

std::vector<UpdateSpread> update_spreads() {
  std::vector<UpdateSpread> all;
  for (const double most_held : {1.0 / 16, 1.0 / 2, 2.0}) {
    for (const double until : {0.3, 0.6, 0.9}) {
      for (const bool newest_first : {false, true}) all.push_back({most_held, until, newest_first});
    }
  }
  return all;
}

std::string describe(const UpdateSpread& spread) {
  return fmt::format("updates that hold at most {:.3g} bytes a byte updated, over {:.0f} % of the time left, {} first",
                     spread.most_held, 100 * spread.until, spread.newest_first ? "newest" : "oldest");
}

Deferral::Deferral(const graph::Graph& graph, const profile::CostModel& costs)
    : graph_(graph), groups_(UpdateGroups(graph).find()) {
  start_.push_back(0);
  for (graph::OpIndex index = 0; index < graph.op_count(); ++index)
    start_.push_back(start_.back() + costs.op_seconds(index));
}

std::vector<graph::OpIndex> Deferral::schedule(const UpdateSpread& spread) const {
  const std::vector<const UpdateGroup*> chosen = groups_within(spread.most_held);
  std::vector<std::vector<graph::OpIndex>> before(graph_.ops().size() + 1);  // by op: what runs right before it
  std::vector<bool> deferred(graph_.ops().size(), false);
  place(chosen, spread, before, deferred);
  std::vector<graph::OpIndex> order;
  for (graph::OpIndex index = 0; index <= graph_.op_count(); ++index) {
    const std::vector<graph::OpIndex>& here = before[as_index(index)];
    order.insert(order.end(), here.begin(), here.end());
    if (index < graph_.op_count() && !deferred[as_index(index)]) order.push_back(index);
  }
  return order;
}

std::vector<const UpdateGroup*> Deferral::groups_within(double most_held) const {
  std::vector<const UpdateGroup*> chosen;
  for (const UpdateGroup& group : groups_) {
    const bool cheap = static_cast<double>(group.held) <= most_held * static_cast<double>(group.updated);
    if (cheap && group.limit > group.ops.back() + 1) chosen.push_back(&group);
  }
  std::ranges::sort(chosen, {}, [](const UpdateGroup* group) { return group->ops.back(); });
  return chosen;
}

void Deferral::place(std::vector<const UpdateGroup*> chosen, const UpdateSpread& spread,
                     std::vector<std::vector<graph::OpIndex>>& before, std::vector<bool>& deferred) const {
  if (chosen.empty()) return;
  const Seconds begin = start_[as_index(chosen.front()->ops.back())];
  const Seconds length = spread.until * (start_.back() - begin);
  const double total = std::accumulate(chosen.begin(), chosen.end(), 0.0, [](double sum, const UpdateGroup* group) {
    return sum + static_cast<double>(group->updated);
  });
  if (spread.newest_first) std::ranges::reverse(chosen);
  double done = 0;
  for (const UpdateGroup* group : chosen) {
    done += static_cast<double>(group->updated);
    const graph::OpIndex at = std::clamp(nearest(begin + length * done / total), group->ops.back() + 1, group->limit);
    if (at == group->ops.back() + 1) continue;
    std::vector<graph::OpIndex>& here = before[as_index(at)];
    here.insert(here.end(), group->ops.begin(), group->ops.end());
    for (const graph::OpIndex op : group->ops) deferred[as_index(op)] = true;
  }
}

graph::OpIndex Deferral::nearest(Seconds time) const {
  const auto after = std::ranges::upper_bound(start_, time);
  const bool sooner = after == start_.end() || time - *(after - 1) < *after - time;
  return as_id<graph::OpIndex>(after - start_.begin()) - (sooner ? 1 : 0);
}

}  // namespace sluice::planners
