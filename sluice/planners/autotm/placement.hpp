// What AutoTM decides (§3): for every tensor, or block of small ones, a path through its flow graph (fig. 6). At each op
// that uses it, the path is in the fast tier or in the slow one; between two uses it stays in the fast tier or not.
//
//   ops            0  1  2  3  4  5  6  7           static: one tier for the whole path
//   uses              w     r        r  r           sync:   moves stand directly before or after an op that uses it
//   fast              1     1        0  1           async:  a move may also run beside one op between two uses,
//   stays                1     0     0                      and begins and ends with that op
//   moves                   out         in
//
// The paper's tensors are never written again; ours may be. What an op writes is a new value, and a value is copied to
// the slow tier at most once: what comes back to fast memory leaves a valid copy behind (§3.6). Persistent tensors, which
// the paper has none of, have one more gap, around the step's end; what lies in the fast tier then has no copy elsewhere
// (plan/plan.hpp). A block of small tensors stays in one tier until all of them are made. Where ops cannot use the slow
// tier (a disk, a GPU's host), every use is fast.
#pragma once

#include <vector>

#include "sluice/planners/planner.hpp"
#include "sluice/planners/schedule/moving_units.hpp"
#include "sluice/planners/schedule/slow_tier.hpp"
#include "sluice/profile/cost_model.hpp"

namespace sluice::planners {

enum class Movement { kStatic, kSynchronous, kAsynchronous };

// One of the implementations that an op has (§3.4): it takes its own time, and its own scratch memory.
struct Alternative {
  std::int32_t implementation = 0;  // an index into Op::implementations
  Seconds longer = 0;               // than with the first one; negative: shorter
  Bytes more_bytes = 0;             // than what the op's operands count
};

// How much may be left out of the program without changing its optimum. Each can be switched off, to see what it is
// worth.
struct Reductions {
  bool only_what_matters = true;   // what is only there while everything fits stays in the fast tier
  bool separable_ops = true;       // no configurations where operands cost the sum of what each costs alone
  bool capacity_at_maxima = true;  // no capacity rows at ops beside one with all of their tensors
  // What the step makes does not leave over gaps in which everything fits, where every use is fast and moves hide behind
  // nothing. (What is persistent may, to have its copy in the slow tier.)
  bool idle_gaps = true;
  bool dominated = true;  // no implementation than which another is no slower and no larger
};

struct PlacementProblem {
  const graph::Graph& graph;
  const profile::CostModel& costs;
  SlowTier slow;
  bool in_place = false;                   // ops can use the slow tier
  std::vector<MovingUnit> units;           // all of the step's
  IdVector<graph::OpIndex, Bytes> limits;  // of the fast tier, by op (§4.2)
  // By op; those with the smallest workspaces first. Empty: it has no choice.
  IdVector<graph::OpIndex, std::vector<Alternative>> alternatives = {};
};

// `units`: what find_moving_units() gives. One limit, the budget, for all ops.
PlacementProblem placement_problem(const graph::Graph& graph, const memory::Machine& machine,
                                   const profile::CostModel& costs, const SlowTier& slow, std::vector<MovingUnit> units,
                                   Bytes budget);

inline constexpr graph::OpIndex kBesideNoOp = -1;  // a move directly after the use, or directly before it

struct UnitPath {
  std::vector<bool> fast;                  // by use
  std::vector<bool> stays;                 // by gap
  std::vector<graph::OpIndex> out_beside;  // by gap: the op beside which it is copied out
  std::vector<graph::OpIndex> in_beside;   // by gap: the op beside which it is brought
  bool operator==(const UnitPath&) const = default;
};

// Where everything fits at once, as it lies when nothing moves, nothing may move. (What may takes whole pages, so that the
// program would find it too large.)
void keep_all_that_fits(PlacementProblem& problem);

// Lets the program choose among the implementations that the profile has times of, of ops whose workspace is a unit by
// itself. Workspaces are in fast memory then, and their units count the smallest.
void add_alternatives(PlacementProblem& problem, const profile::Profile& profile);

// Whether there is anything to decide about the unit.
bool may_be_placed(const PlacementProblem& problem, const MovingUnit& unit);
// Between two uses; a persistent unit has one more, from the last to the first.
std::size_t gap_count(const MovingUnit& unit);
bool wraps(const MovingUnit& unit, std::size_t gap);
// The ops between the two uses: one range, or two where it wraps.
std::vector<Interval<graph::OpIndex>> ops_of_gap(const MovingUnit& unit, std::size_t gap, graph::OpIndex op_count);

// An answer to the problem.
struct PlacedStep {
  std::vector<UnitPath> paths;                                // by unit
  IdVector<graph::OpIndex, std::size_t> alternative_of = {};  // by op, where there are any: one of its alternatives
};

// By op of the graph: the implementation that the answer has.
std::vector<graph::OpChoice> choices_of(const PlacementProblem& problem, const PlacedStep& placed);

// A value that a unit holds until it is next written, or the step ends, and the gaps over which it could leave: it is
// copied out where it was made in the fast tier and does not stay over all of them.
struct UnitValue {
  bool from_before = false;       // the step begins with it, in the fast tier where it stayed over the step's end
  std::size_t writer = 0;         // else the use that writes it
  std::vector<std::size_t> gaps;  // ascending
};
std::vector<UnitValue> values_of(const MovingUnit& unit);

UnitPath always_fast_path(const MovingUnit& unit);

// What an op takes with these units in the slow tier.
Seconds seconds_with(const PlacementProblem& problem, graph::OpIndex op, const std::vector<std::size_t>& slow_units);

// As a plan says it.
TensorSchedule schedule_of(const MovingUnit& unit, const UnitPath& path, graph::OpIndex op_count);

}  // namespace sluice::planners
