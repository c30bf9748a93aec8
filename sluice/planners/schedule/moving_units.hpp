// A unit is what Sentinel decides about as a whole: a tensor, or a block of tensors with the same life, all of them
// small except at most one (section IV-B). A block is kept, evicted and prefetched whole, by one transfer.
//
// A small tensor joins
//   - a larger one that every op that uses it uses too: moving it along costs nothing (statistics of a batch norm and
//     the activation they are of);
//   - else the other small ones that are used in exactly the same layers.
// The paper packs all long-lived tensors of the same layers; large ones move alone here, so that each can leave as soon
// as its own last use is done.
#pragma once

#include <vector>

#include "sluice/graph/liveness.hpp"
#include "sluice/plan/plan.hpp"
#include "sluice/planners/schedule/slow_tier.hpp"
#include "sluice/planners/schedule/tensor_schedule.hpp"
#include "sluice/profile/cost_model.hpp"

namespace sluice::planners {

inline constexpr Bytes kSmallTensorBytes = 256 * kKiB;

struct MovingUnit {
  std::vector<graph::TensorId> tensors;
  std::vector<graph::Use> uses;       // of any of them: ascending op, one entry per op
  Interval<graph::OpIndex> range;     // from the first live range's begin to the last one's end
  graph::OpIndex complete_after = 0;  // the op after which all of them are made; the unit may not leave before it
  bool persistent = false;
  bool may_move = false;     // long-lived, used, and not read by the caller
  bool short_lived = false;  // may not move, but only because it is short-lived
  Bytes moved_bytes = 0;     // of one transfer; also its room in either tier if it may move
  Bytes kept_bytes = 0;      // its room if it never moves
  bool encoded = false;      // its copies in the slow tier are: encode_where_worth()
  SlowTier slow;             // where it goes when it leaves the fast tier (slow_rooms.hpp)

  profile::Load load() const { return {tensors.front(), moved_bytes, encoded}; }  // of one transfer
};

// Every tensor is in one unit; which slow tier each goes to is left open. O(n log n) in tensors and uses.
std::vector<MovingUnit> find_moving_units(const graph::Graph& graph, const graph::Liveness& liveness);

// Decides which units move encoded: those whose copies then cost less, out and in (CostModel::worth_encoding). Before a
// search, so that it sees the shorter transfers. Persistent tensors and blocks move as they are, and so does all where
// ops can use the slow tier in place. Returns how many do not.
int encode_where_worth(const memory::Machine& machine, const profile::CostModel& costs, std::vector<MovingUnit>& units);

// Adds the unit's schedule to the plan. Tensors that never move need not lie together on pages: each has its own room,
// over its own live range.
void add_unit_schedule(plan::PlanBuilder& builder, const graph::Graph& graph, const graph::Liveness& liveness,
                       const MovingUnit& unit, const TensorSchedule& schedule);

}  // namespace sluice::planners
