#include "sluice/planners/schedule/moving_units.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/layout/reorganize.hpp"
#include "sluice/plan/rooms.hpp"

namespace sluice::planners {
namespace {

bool used_by_all(const std::vector<graph::Use>& ops, const std::vector<graph::Use>& uses) {
  const auto by_op = [](const graph::Use& a, const graph::Use& b) { return a.op < b.op; };
  return std::includes(uses.begin(), uses.end(), ops.begin(), ops.end(), by_op);
}

class Grouping {
 public:
  Grouping(const graph::Graph& graph, const graph::Liveness& liveness) : graph_(graph), liveness_(liveness) {
    for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) (small(id) ? small_ : others_).push_back(id);
  }

  std::vector<std::vector<graph::TensorId>> run() {
    for (const graph::TensorId id : others_) {
      if (may_move(id)) larger_[key(id)].push_back(groups_.size());
      groups_.push_back({id});
    }
    std::map<Key, std::vector<graph::TensorId>> together;
    for (const graph::TensorId id : small_) {
      if (!join_larger(id)) together[key(id)].push_back(id);
    }
    for (auto& [layers, tensors] : together) groups_.push_back(std::move(tensors));
    return std::move(groups_);
  }

  bool may_move(graph::TensorId id) const { return is_of_the_step(id) && !liveness_.short_lived[id]; }
  bool is_short_lived(graph::TensorId id) const { return is_of_the_step(id) && liveness_.short_lived[id]; }

 private:
  using Key = std::pair<bool, std::vector<int>>;  // persistent?, and the layers of use

  // Used, and not read by the caller.
  bool is_of_the_step(graph::TensorId id) const {
    return !liveness_.uses[id].empty() && graph_.tensor(id).role != graph::Role::kOutput && graph_.tensor(id).bytes > 0;
  }

  Key key(graph::TensorId id) const {
    return {graph::is_persistent(graph_.tensor(id).role), layout::spans_of_use(liveness_, id)};
  }

  // A persistent tensor written by the step's very first op has no old value worth bringing, and others beside it may.
  bool small(graph::TensorId id) const {
    const bool at_once = graph::is_persistent(graph_.tensor(id).role) && liveness_.uses[id].front().op == 0;
    return may_move(id) && graph_.tensor(id).bytes < kSmallTensorBytes && !at_once;
  }

  bool join_larger(graph::TensorId id) {
    if (graph::is_persistent(graph_.tensor(id).role)) return false;
    const auto found = larger_.find(key(id));
    if (found == larger_.end()) return false;
    for (const std::size_t group : found->second) {
      if (!used_by_all(liveness_.uses[id], liveness_.uses[groups_[group].front()])) continue;
      groups_[group].push_back(id);
      return true;
    }
    return false;
  }

  const graph::Graph& graph_;
  const graph::Liveness& liveness_;
  std::vector<graph::TensorId> small_;
  std::vector<graph::TensorId> others_;
  std::vector<std::vector<graph::TensorId>> groups_;
  std::map<Key, std::vector<std::size_t>> larger_;  // groups
};

std::vector<graph::Use> merged_uses(const graph::Liveness& liveness, const std::vector<graph::TensorId>& tensors) {
  std::map<graph::OpIndex, graph::Use> by_op;
  for (const graph::TensorId id : tensors) {
    for (const graph::Use& use : liveness.uses[id]) {
      graph::Use& merged = by_op[use.op];
      merged = {use.op, merged.reads || use.reads, merged.writes || use.writes};
    }
  }
  std::vector<graph::Use> uses;
  for (const auto& [op, use] : by_op) uses.push_back(use);
  return uses;
}

Bytes transfer_bytes(const graph::Graph& graph, const std::vector<graph::TensorId>& tensors) {
  if (tensors.size() == 1) return plan::stored_bytes(graph.tensor(tensors.front()));
  Bytes bytes = 0;
  for (const graph::TensorId id : tensors) bytes += align_up(graph.tensor(id).bytes, plan::kOperandAlignment);
  return align_up(bytes, memory::kBlockAlignment);
}

}  // namespace

std::vector<MovingUnit> find_moving_units(const graph::Graph& graph, const graph::Liveness& liveness) {
  Grouping grouping(graph, liveness);
  std::vector<MovingUnit> units;
  for (std::vector<graph::TensorId>& tensors : grouping.run()) {
    MovingUnit unit;
    unit.uses = merged_uses(liveness, tensors);
    unit.range = liveness.ranges[tensors.front()];
    unit.persistent = graph::is_persistent(graph.tensor(tensors.front()).role);
    unit.may_move = grouping.may_move(tensors.front());
    unit.short_lived = grouping.is_short_lived(tensors.front());
    unit.moved_bytes = transfer_bytes(graph, tensors);
    for (const graph::TensorId id : tensors) {
      const Interval<graph::OpIndex> range = liveness.ranges[id];
      unit.range = {std::min(unit.range.begin, range.begin), std::max(unit.range.end, range.end)};
      if (!unit.persistent) unit.complete_after = std::max(unit.complete_after, range.begin);
      unit.kept_bytes += plan::room_for(graph.tensor(id), memory::kFastTier, false).bytes;
    }
    unit.tensors = std::move(tensors);
    units.push_back(std::move(unit));
  }
  return units;
}

int encode_where_worth(const memory::Machine& machine, const profile::CostModel& costs,
                       std::vector<MovingUnit>& units) {
  for (MovingUnit& unit : units) {
    unit.encoded = unit.may_move && !unit.persistent && unit.tensors.size() == 1 &&
                   !machine.tier(unit.slow.id).addressable &&
                   costs.worth_encoding(unit.slow.outward, unit.slow.inward, unit.tensors.front(), unit.moved_bytes);
  }
  return static_cast<int>(std::ranges::count_if(units, &MovingUnit::encoded));
}

void add_unit_schedule(plan::PlanBuilder& builder, const graph::Graph& graph, const graph::Liveness& liveness,
                       const MovingUnit& unit, const TensorSchedule& schedule) {
  const bool stays = schedule.fast_at_start == unit.persistent && schedule.pieces.size() == 1 &&
                     schedule.pieces.front().ops == unit.range;
  if (stays) {
    for (const graph::TensorId id : unit.tensors) {
      add_tensor_schedule(builder, graph, liveness, id, unit.slow.id, always_fast(liveness, id, unit.persistent));
    }
    return;
  }
  auto added = std::ssize(builder.residencies());
  add_block_schedule(builder, graph, unit.uses, unit.tensors, unit.slow.id, schedule);
  for (; unit.encoded && added < std::ssize(builder.residencies()); ++added) {
    if (builder.residencies()[as_index(added)].tier == unit.slow.id) builder.encode(as_id<plan::ResidencyIndex>(added));
  }
}

}  // namespace sluice::planners
