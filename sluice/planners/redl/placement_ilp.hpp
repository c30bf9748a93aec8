// ReDL's placement by integer programming (§III-B). It decides where each op finds each tensor. The sum of the ops'
// expected times, given where their operands are, is to be least within the capacity of both tiers.
//
// There is one choice per stretch (stretches.hpp): in the fast tier, or used in place in the slow one. There is one
// choice per gap: the unit stays in the fast tier, or not. The objective is in seconds:
//   - for every op, the extra time with its operands where the choices put them. If the operands together cost the sum
//     of what each costs alone, these costs are added up; for other ops (measured placements) there is a column for
//     every configuration;
//   - for copies, the time they take from the compute threads (Link::interference), and the time that does not hide
//     under compute: in each of `kBuckets` equal parts of the step, and for each direction, the time by which the
//     copies needed there exceed `kLaneShare` of the part.
// Rows, at each op where the load has a maximum: bytes in fast memory at most `Capacities::fast`; softly, the same with
// the room that copies need while they run; and bytes in slow memory at most its capacity (constraint 3). The paper's
// program has neither gaps nor copies, because in it nothing moves. Where the slow tier is not addressable every
// stretch is fast, and the program chooses what stays and what moves.
//
// The answer comes from three solvers in turn: the linear relaxation; a greedy one guided by it; CBC, started from
// that. Cost: a few milliseconds for 100 units, about a second for a thousand.
#pragma once

#include <optional>

#include "sluice/planners/ilp/integer_program.hpp"
#include "sluice/planners/redl/stretches.hpp"

namespace sluice::planners {

struct UnitPlacement {
  std::vector<bool> fast;  // by stretch
  std::vector<bool> kept;  // by gap
};

struct Placement {
  std::vector<UnitPlacement> units;
  std::string status;        // of the solver
  Seconds lost_seconds = 0;  // the objective: beyond all ops in the fast tier
  int columns = 0;           // of the program; 0 when everything fits
  int rows = 0;
};

struct Capacities {
  Bytes fast = 0;
  Bytes slow = 0;  // of the farthest slow tier; room in nearer ones is given out before (slow_rooms.hpp)
};

// Empty when some op's operands that have to be in the fast tier exceed its capacity.
std::optional<Placement> place(const RedlProblem& problem, const std::vector<StretchedUnit>& units,
                               const Capacities& capacities, const SolveLimits& limits);

}  // namespace sluice::planners
