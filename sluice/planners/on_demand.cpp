// On-demand paging with tensors for pages: an op that finds an operand missing fetches it and waits; when there is no
// room the tensors used longest ago are evicted first, written back when the slow copy is stale, and that is waited
// for too. Nothing is fetched ahead. Unlike an operating system it knows when a tensor is dead, and frees it.
//
// The rule is online, but a step's accesses are known, so its decisions are written down as a plan. A step has to end
// as it began: the persistent tensors in the fast tier between steps are found by repeating the step until each tensor
// it started with was used before it was evicted, and is there again at the end. What the step's last op uses cannot be
// written back before the step ends, and is never evicted.
#include <algorithm>
#include <map>
#include <set>

#include "sluice/base/id_vector.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/schedule/pack.hpp"
#include "sluice/planners/schedule/slow_rooms.hpp"
#include "sluice/planners/schedule/tensor_schedule.hpp"

namespace sluice {
namespace {

class LruStep {
 public:
  LruStep(const Graph& graph, const Liveness& liveness, Bytes capacity, const std::set<TensorId>& at_start)
      : graph_(graph),
        liveness_(liveness),
        capacity_(capacity),
        schedules_(graph.tensors().size()),
        last_touch_(graph.tensors().size(), kStepStart),
        locked_(distinct_operands(graph.op(graph.op_count() - 1))) {
    for (const TensorId id : at_start) {
      schedules_[id].fast_at_start = true;
      last_touch_[id] = liveness.uses[id].back().op - graph.op_count();
      open_piece(id, 0);
    }
  }

  // False when some op's operands exceed the capacity.
  bool run() {
    for (OpIndex op = 0; op < graph_.op_count(); ++op) {
      if (!bring_operands(op)) return false;
      free_dead(op);
    }
    return true;
  }

  // Persistent tensors in the fast tier now, without those that were evicted before their first use.
  std::set<TensorId> persistent_residents() const;
  IdVector<TensorId, TensorSchedule> finish(const std::set<TensorId>& at_start);

 private:
  FastPiece& current(TensorId id) { return schedules_[id].pieces.back(); }
  Bytes bytes(TensorId id) const { return stored_bytes(graph_.tensor(id)); }

  void open_piece(TensorId id, OpIndex op) {
    schedules_[id].pieces.push_back(
        {.ops = {op, graph_.op_count()}, .first_use = -1, .last_use = op, .evict_after = op, .comes = Cause::kMissing});
    resident_.insert({last_touch_[id], id});
    is_resident_[id] = true;
    used_ += bytes(id);
  }

  void close_piece(TensorId id, OpIndex end, OpIndex evict_after, Cause cause) {
    current(id).leaves = cause;
    current(id).ops.end = end;
    current(id).evict_after = evict_after;
    resident_.erase({last_touch_[id], id});
    is_resident_[id] = false;
    used_ -= bytes(id);
  }

  void touch(TensorId id, OpIndex op) {
    resident_.erase({last_touch_[id], id});
    last_touch_[id] = op;
    resident_.insert({op, id});
  }

  bool evictable(TensorId id, const std::vector<TensorId>& operands) const {
    const auto among = [&](const std::vector<TensorId>& ids) {
      return std::find(ids.begin(), ids.end(), id) != ids.end();
    };
    return !among(operands) && !among(locked_) && graph_.tensor(id).role != Role::kOutput;
  }

  bool bring_operands(OpIndex op);
  bool make_room(OpIndex op, Bytes needed, const std::vector<TensorId>& operands);
  void free_dead(OpIndex op);

  const Graph& graph_;
  const Liveness& liveness_;
  Bytes capacity_;
  IdVector<TensorId, TensorSchedule> schedules_;
  IdVector<TensorId, OpIndex> last_touch_;
  std::vector<TensorId> locked_;
  std::set<std::pair<OpIndex, TensorId>> resident_;  // by last touch: the front was used longest ago
  IdVector<TensorId, bool> is_resident_ = std::vector<bool>(graph_.tensors().size(), false);
  std::set<TensorId> evicted_unused_;
  Bytes used_ = 0;
};

bool LruStep::bring_operands(OpIndex op) {
  const std::vector<TensorId> operands = distinct_operands(graph_.op(op));
  Bytes needed = 0;
  for (const TensorId id : operands) needed += is_resident_[id] ? 0 : bytes(id);
  if (!make_room(op, needed, operands)) return false;
  for (const TensorId id : operands) {
    if (!is_resident_[id]) open_piece(id, op);
    FastPiece& piece = current(id);
    if (piece.first_use < 0) piece.first_use = op;
    piece.last_use = piece.evict_after = op;
    touch(id, op);
  }
  return true;
}

bool LruStep::make_room(OpIndex op, Bytes needed, const std::vector<TensorId>& operands) {
  while (used_ + needed > capacity_) {
    const auto found = std::find_if(resident_.begin(), resident_.end(),
                                    [&](const auto& entry) { return evictable(entry.second, operands); });
    if (found == resident_.end()) return false;
    const TensorId victim = found->second;
    close_piece(victim, op, op - 1, Cause::kLeastRecentlyUsed);
    if (current(victim).first_use < 0) evicted_unused_.insert(victim);
  }
  return true;
}

void LruStep::free_dead(OpIndex op) {
  for (const TensorId id : distinct_operands(graph_.op(op))) {
    if (liveness_.ranges[id].end == op + 1 && !is_persistent(graph_.tensor(id).role)) {
      close_piece(id, op + 1, op, Cause::kUnsaid);
    }
  }
}

// What was not in the fast tier at the start is written back before the step ends.
IdVector<TensorId, TensorSchedule> LruStep::finish(const std::set<TensorId>& at_start) {
  const OpIndex last = graph_.op_count() - 1;
  const auto left = resident_;
  for (const auto& [touched, id] : left) {
    if (!is_persistent(graph_.tensor(id).role) || at_start.contains(id)) continue;
    close_piece(id, last + 1, std::max(current(id).last_use, last - 1), Cause::kStepEnds);
  }
  return std::move(schedules_);
}

std::set<TensorId> LruStep::persistent_residents() const {
  std::set<TensorId> result;
  for (const auto& [touched, id] : resident_) {
    if (is_persistent(graph_.tensor(id).role) && !evicted_unused_.contains(id)) result.insert(id);
  }
  return result;
}

std::optional<IdVector<TensorId, TensorSchedule>> schedule_lru(const Graph& graph, const Liveness& liveness,
                                                               Bytes capacity) {
  LruStep cold(graph, liveness, capacity, {});
  if (!cold.run()) return std::nullopt;
  std::set<TensorId> at_start = cold.persistent_residents();
  while (true) {
    LruStep step(graph, liveness, capacity, at_start);
    if (!step.run()) return std::nullopt;
    const std::set<TensorId> at_end = step.persistent_residents();
    std::set<TensorId> both;
    std::set_intersection(at_start.begin(), at_start.end(), at_end.begin(), at_end.end(),
                          std::inserter(both, both.begin()));
    if (both == at_start) return step.finish(at_start);
    at_start = std::move(both);
  }
}

// The tier that each tensor is evicted to: in the order in which they leave, the nearest one that has room then.
IdVector<TensorId, TierId> tiers_left_for(const Graph& graph, const Liveness& liveness,
                                          const IdVector<TensorId, TensorSchedule>& schedules, SlowRooms rooms) {
  IdVector<TensorId, TierId> tiers(graph.tensors().size(), kFastTier);
  std::map<OpIndex, std::vector<std::pair<TensorId, SlowDemand>>> leaving;  // by when a copy first needs its room
  for (TensorId id = 0; id < graph.tensor_count(); ++id) {
    if (liveness.uses[id].empty()) continue;
    const bool persistent = is_persistent(graph.tensor(id).role);
    SlowDemand demand = slow_demand(liveness.uses[id], schedules[id], persistent, graph.op_count());
    if (!demand.ranges.empty()) leaving[demand.ranges.front().begin].emplace_back(id, std::move(demand));
  }
  for (const auto& [op, tensors] : leaving) {
    for (const auto& [id, demand] : tensors) tiers[id] = rooms.place(demand.ranges, stored_bytes(graph.tensor(id))).id;
  }
  return tiers;
}

Result<Plan> plan_on_demand(const PlanRequest& request) {
  SLUICE_ASSIGN(const std::vector<SlowTier> slow, find_slow_tiers("on-demand", request.machine));
  const Liveness liveness = analyze_liveness(request.graph);
  const auto build = [&](const std::vector<Bytes>& capacities) -> std::optional<PlanBuilder> {
    const auto schedules = schedule_lru(request.graph, liveness, capacities[kFastTier]);
    if (!schedules) return std::nullopt;
    PlanBuilder builder(request.graph, request.machine);
    const IdVector<TensorId, TierId> left_for =
        tiers_left_for(request.graph, liveness, *schedules, SlowRooms(slow, request.graph.op_count(), capacities));
    for (TensorId id = 0; id < request.graph.tensor_count(); ++id) {
      add_tensor_schedule(builder, request.graph, liveness, id, left_for[id], (*schedules)[id]);
    }
    return builder;
  };
  SLUICE_ASSIGN(PackedPlan packed, pack_with_less_capacity(request, request.budgets, build));
  return pack_with_more_capacity(request, std::move(packed), build).plan;
}

}  // namespace

PlannerEntry on_demand_planner() {
  return {.name = "on-demand",
          .summary = "fetch when an op needs it, evict the least recently used: what paging does",
          .plan = plan_on_demand,
          .traits = {.moves = true, .all_tensors = true, .any_graph = true, .several_tiers = true}};
}

}  // namespace sluice
