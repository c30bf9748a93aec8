// deferred-updates: weight gradients and updates run later, where the link to the slow tier has room.
//
// A large layer in the middle of a step (VGG's first dense layer: 392 MiB of weights, as much gradient and momentum)
// needs its parameters, gradients and optimizer states within a few milliseconds, and then the link idles under the
// backward pass of the layers before it. But its gradient is made of two small tensors, what the layer read and the
// gradient of what it wrote. If these stay in fast memory, gradient and update may wait:
//
//   order of the graph   dx1 dw1 up1  dx2 dw2 up2  dx3 dw3 up3   dx4        dx5        dx6        dx7
//   deferred             dx1          dx2          dx3           dx4 dw1 up1  dx5 dw2 up2  dx6 dw3 up3  dx7
//
// An update and all that makes its gradient move together (UpdateGroup), and not past an op that overwrites what they
// read. A few ways to spread them over the rest of the step (Spread) are planned by `sentinel` and simulated; the best
// is kept, and that may be the graph's own order. So every question of where tensors live is sentinel's, as are the
// trials of late prefetches while training runs.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/op_traits.hpp"
#include "sluice/planners/plan_search.hpp"
#include "sluice/planners/planner_name.hpp"
#include "sluice/planners/rescheduled_request.hpp"
#include "sluice/program/program.hpp"
#include "sluice/sim/simulator.hpp"

namespace sluice {
namespace {

constexpr std::string_view kPlacedBy = "sentinel";
constexpr double kFasterOrder = 0.998;  // of the simulated time of another order than the graph's own

// Updates that share the making of their gradients, with the ops that make them.
struct UpdateGroup {
  std::vector<OpIndex> ops;  // ascending
  OpIndex limit = 0;         // the first op that overwrites something they read; op_count() where none does
  Bytes updated = 0;         // of parameters and optimizer states
  Bytes held = 0;            // of what they read and must stay until then
};

// Which groups are deferred, and how far.
struct Spread {
  double most_held = 0;       // of a group, per byte that it updates
  double until = 0;           // of the compute time between the first group and the end of the step
  bool newest_first = false;  // the last to be ready goes first: its weights were just read
};

class UpdateGroups {
 public:
  explicit UpdateGroups(const Graph& graph) : graph_(graph), liveness_(analyze_liveness(graph)) {}

  std::vector<UpdateGroup> find() {
    std::vector<UpdateGroup> groups;
    std::set<OpIndex> taken;
    for (OpIndex index = 0; index < graph_.op_count(); ++index) {
      if (!is_update(graph_.op(index).kind) || taken.contains(index)) continue;
      const std::set<OpIndex> ops = with_makers(index);
      taken.insert(ops.begin(), ops.end());
      groups.push_back(group_of(ops));
    }
    return groups;
  }

 private:
  // The op, and for every gradient of a parameter that one of the ops uses all ops that use it. (What makes a copy of a
  // gradient in another layout stays where it is: the copy is held.)
  std::set<OpIndex> with_makers(OpIndex update) const {
    std::set<OpIndex> ops{update};
    std::vector<OpIndex> open{update};
    while (!open.empty()) {
      const Op& op = graph_.op(open.back());
      open.pop_back();
      for (const TensorId id : distinct_operands(op)) {
        if (graph_.tensor(id).role != Role::kGradient) continue;
        for (const Use& use : liveness_.uses[id]) {
          if (ops.insert(use.op).second) open.push_back(use.op);
        }
      }
    }
    return ops;
  }

  UpdateGroup group_of(const std::set<OpIndex>& ops) const {
    UpdateGroup group{.ops = {ops.begin(), ops.end()}, .limit = graph_.op_count()};
    std::set<TensorId> seen;
    for (const OpIndex index : group.ops) {
      for (const TensorId id : distinct_operands(graph_.op(index))) {
        const bool scratch = graph_.tensor(id).role == Role::kWorkspace && liveness_.uses[id].size() == 1;
        if (graph_.tensor(id).role == Role::kGradient || scratch) continue;
        if (seen.insert(id).second) add_operand(group, id);
      }
    }
    return group;
  }

  // Later uses of what the group writes keep their place behind it, and so do writes of what it reads.
  void add_operand(UpdateGroup& group, TensorId id) const {
    const bool persistent = is_persistent(graph_.tensor(id).role);
    (persistent ? group.updated : group.held) += graph_.tensor(id).bytes;
    bool written = false;
    for (const Use& use : liveness_.uses[id]) {
      const bool mine = std::ranges::binary_search(group.ops, use.op);
      written = written || (mine && use.writes);
      if (!mine && use.op > group.ops.front() && (use.writes || written)) group.limit = std::min(group.limit, use.op);
    }
  }

  const Graph& graph_;
  const Liveness liveness_;
};

// Schedules with groups deferred. Time is compute time in fast memory.
class Deferral {
 public:
  explicit Deferral(const PlanRequest& request) : graph_(request.graph), groups_(UpdateGroups(graph_).find()) {
    const CostModel costs(graph_, request.profile, request.machine);
    start_.push_back(0);
    for (OpIndex index = 0; index < graph_.op_count(); ++index)
      start_.push_back(start_.back() + costs.op_seconds(index));
  }

  std::vector<OpIndex> schedule(const Spread& spread) const {
    const std::vector<const UpdateGroup*> chosen = groups_within(spread.most_held);
    std::vector<std::vector<OpIndex>> before(graph_.ops().size() + 1);  // by op: what runs right before it
    std::vector<bool> deferred(graph_.ops().size(), false);
    place(chosen, spread, before, deferred);
    std::vector<OpIndex> order;
    for (OpIndex index = 0; index <= graph_.op_count(); ++index) {
      const std::vector<OpIndex>& here = before[as_index(index)];
      order.insert(order.end(), here.begin(), here.end());
      if (index < graph_.op_count() && !deferred[as_index(index)]) order.push_back(index);
    }
    return order;
  }

 private:
  std::vector<const UpdateGroup*> groups_within(double most_held) const {
    std::vector<const UpdateGroup*> chosen;
    for (const UpdateGroup& group : groups_) {
      const bool cheap = static_cast<double>(group.held) <= most_held * static_cast<double>(group.updated);
      if (cheap && group.limit > group.ops.back() + 1) chosen.push_back(&group);
    }
    std::ranges::sort(chosen, {}, [](const UpdateGroup* group) { return group->ops.back(); });
    return chosen;
  }

  // As evenly over the time as there are bytes to bring and to send back.
  void place(std::vector<const UpdateGroup*> chosen, const Spread& spread, std::vector<std::vector<OpIndex>>& before,
             std::vector<bool>& deferred) const {
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
      const OpIndex at = std::clamp(nearest(begin + length * done / total), group->ops.back() + 1, group->limit);
      if (at == group->ops.back() + 1) continue;
      std::vector<OpIndex>& here = before[as_index(at)];
      here.insert(here.end(), group->ops.begin(), group->ops.end());
      for (const OpIndex op : group->ops) deferred[as_index(op)] = true;
    }
  }

  // The op that starts nearest to that time; op_count(): the end is nearer.
  OpIndex nearest(Seconds time) const {
    const auto after = std::ranges::upper_bound(start_, time);
    const bool sooner = after == start_.end() || time - *(after - 1) < *after - time;
    return static_cast<OpIndex>(after - start_.begin()) - (sooner ? 1 : 0);
  }

  const Graph& graph_;
  std::vector<UpdateGroup> groups_;
  std::vector<Seconds> start_;  // by op, and the end
};

std::string describe(const std::optional<Spread>& spread) {
  if (!spread) return "nothing: no other order is worth its traffic";
  return fmt::format("updates that hold at most {:.3g} bytes a byte updated, over {:.0f} % of the time left, {} first",
                     spread->most_held, 100 * spread->until, spread->newest_first ? "newest" : "oldest");
}

// Orders that sentinel planned and the simulator timed, the best of them kept.
class OrderSearch {
 public:
  explicit OrderSearch(const PlanRequest& request) : given_(request), deferral_(request) {}

  Status run() {
    consider(std::nullopt);
    for (const double most_held : {1.0 / 16, 1.0 / 2, 2.0}) {
      for (const double until : {0.3, 0.6, 0.9}) {
        for (const bool newest_first : {false, true}) consider(Spread{most_held, until, newest_first});
      }
    }
    for (const double more : {-0.1, 0.1, -0.05, 0.05}) {
      if (!spread_) break;
      consider(Spread{spread_->most_held, spread_->until + more, spread_->newest_first});
    }
    return best_ ? Status() : Status(*failure_);
  }

  const std::shared_ptr<const RescheduledRequest>& best() const { return best_; }
  std::string description() const { return describe(spread_); }

 private:
  // nullopt: the graph's own order.
  void consider(const std::optional<Spread>& spread) {
    std::vector<OpIndex> order = deferral_.schedule(spread.value_or(Spread{}));
    if (!tried_.insert(order).second) return;
    auto asked =
        std::make_shared<const RescheduledRequest>(given_, std::move(order), choose_planner(kPlacedBy)->additions);
    PlanRequest draft = asked->request();
    draft.draft = true;
    const Result<Plan> plan = find_planner(kPlacedBy)->plan(draft);
    if (!plan.ok()) {
      if (!failure_) failure_ = plan.error();
      return;
    }
    const Seconds seconds = simulated(asked->request(), *plan);
    if (best_ && seconds >= (spread_ ? kFasterOrder : kWorthMoreTraffic) * seconds_) return;
    best_ = std::move(asked);
    spread_ = spread;
    seconds_ = seconds;
  }

  static Seconds simulated(const PlanRequest& request, const Plan& plan) {
    const CostModel costs(request.graph, request.profile, request.machine);
    return simulate(lower_plan(request.graph, request.machine, plan).value(), costs).step_seconds;
  }

  const PlanRequest& given_;
  Deferral deferral_;
  std::set<std::vector<OpIndex>> tried_;
  std::shared_ptr<const RescheduledRequest> best_;
  std::optional<Spread> spread_;  // of the best
  Seconds seconds_ = 0;           // of the best
  std::optional<Error> failure_;  // the first
};

Result<std::unique_ptr<PlanSearch>> search_deferred(const PlanRequest& request) {
  OrderSearch orders(request);
  SLUICE_RETURN_IF_ERROR(orders.run());
  SLUICE_ASSIGN(std::unique_ptr<PlanSearch> search, find_planner(kPlacedBy)->search(orders.best()->request()));
  const std::pair<std::string, std::string> deferred("deferred", orders.description());
  return std::unique_ptr<PlanSearch>(
      std::make_unique<RescheduledSearch>(orders.best(), std::move(search), std::vector{deferred}));
}

Result<Plan> plan_deferred(const PlanRequest& request) {
  SLUICE_ASSIGN(const std::unique_ptr<PlanSearch> search, search_deferred(request));
  return settle_in_simulation(*search, request);
}

}  // namespace

PlannerEntry deferred_updates_planner() {
  return {.name = "deferred-updates",
          .summary = "sentinel, with weight gradients and updates run later, where the link has room",
          .plan = plan_deferred,
          .search = search_deferred,
          .keeps_short_lived_fast = true};
}

}  // namespace sluice
