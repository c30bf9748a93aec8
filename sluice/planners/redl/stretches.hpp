// What ReDL decides about: the stretches and gaps of a unit (a tensor, or a block of small ones: moving_units.hpp). A
// stretch is a run of uses; they find the unit in the fast tier, or use it in place in the slow tier. A gap lies
// between two stretches; over a gap the unit may stay in the fast tier or leave it.
//
//   ops         0  1  2  3  4  5  6  7  8  9
//   uses           w  r              r     u
//   stretches     [0----)           [1-) [2-)
//   gaps                 (0--------)   (1)     and for a persistent unit gap 2, around the step's end to stretch 0
//
// Uses with no op between them belong to one stretch. So do uses whose gap is too short for a copy out and back.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/planners/additions.hpp"
#include "sluice/planners/redl/redl_additions.hpp"
#include "sluice/planners/schedule/moving_units.hpp"
#include "sluice/planners/schedule/slow_tier.hpp"
#include "sluice/profile/cost_model.hpp"

namespace sluice::planners {

// What does not change while ReDL plans for one request.
struct RedlProblem {
  const graph::Graph& graph;
  const memory::Machine& machine;
  const graph::Liveness& liveness;
  const std::vector<MovingUnit>& units;  // each with its slow tier
  const profile::CostModel& costs;
  std::vector<SlowTier> slow;  // nearest first
  std::vector<Seconds> start;  // by OpIndex, and the step's end: op after op in the fast tier, without waiting
  AdditionSet additions = {};  // RedlAddition

  bool addressable(const MovingUnit& unit) const { return machine.tier(unit.slow.id).addressable; }
  bool addressable() const {
    return std::ranges::any_of(slow, [&](const SlowTier& each) { return machine.tier(each.id).addressable; });
  }
  Seconds seconds_in(Interval<graph::OpIndex> ops) const {
    return start[as_index(ops.end)] - start[as_index(ops.begin)];
  }
};

// How finely units are divided. The coarse rules are tried first; the fine rules are for budgets where the coarse ones
// find no plan.
struct StretchRules {
  Bytes small_bytes = kSmallTensorBytes;  // smaller units stay in the fast tier
  bool short_gaps = false;                // gaps too short for a copy out and back are gaps too
  bool short_lived_leave = false;         // in tiers that ops cannot address, short-lived units may move too
  bool undivided = false;                 // one stretch a unit, over its whole live range: it never leaves its tier
};

struct Stretch {
  Interval<graph::OpIndex> ops;  // [first use, one past last use)
  bool writes = false;           // some op of the stretch writes the unit
  Seconds slow_seconds = 0;      // extra time of its ops with this unit, and nothing else, in the slow tier
};

struct StretchedUnit {
  std::vector<Stretch> stretches;  // one over the whole live range when the unit is pinned; none without uses
  bool persistent = false;
  bool may_leave = false;  // gaps may be cut
  bool in_place = false;   // stretches may use it in the slow tier
  Bytes bytes = 0;         // room in either tier, and of one transfer

  bool pinned() const { return !may_leave && !in_place; }
  std::size_t gap_count() const { return !may_leave ? 0 : stretches.size() - (persistent ? 0 : 1); }
  bool wraps(std::size_t gap) const { return gap + 1 == stretches.size(); }
};

// By unit.
std::vector<StretchedUnit> find_stretches(const RedlProblem& problem, const StretchRules& rules);

// The op ranges of a gap, perhaps empty: one, or two when it wraps.
std::vector<Interval<graph::OpIndex>> ranges_of_gap(const StretchedUnit& unit, std::size_t gap,
                                                    graph::OpIndex op_count);

// How much longer the op takes with these units in their slow tiers than with everything in the fast tier.
Seconds seconds_lost(const RedlProblem& problem, graph::OpIndex op, std::span<const std::size_t> slow_units);

// For each op, the stretches that contain it, as pairs of unit and stretch in unit order. Pinned units are left out.
struct StretchRef {
  std::size_t unit = 0;
  std::size_t stretch = 0;
};
std::vector<std::vector<StretchRef>> stretches_of_ops(const RedlProblem& problem,
                                                      const std::vector<StretchedUnit>& units);

}  // namespace sluice::planners
