// AutoTM's integer programs (§3.2 to §3.6, §7.1): one formulation, of which the three kinds of movement leave different
// parts out.
//
//   minimise   sum of op times + sum of synchronous moves        (1), (2); asynchronous: (7), by op the longer of its time
//                                                                and of the moves beside it
//   such that  by op: bytes of its operands that are fast, and of what stays over it <= its limit              (5), (9)
//              by op: one configuration of its operands' tiers, with its own time                              (6)
//              by op: one of its implementations, with its time and its workspace                           (9), (10)
//              by gap: what stays is fast at both its ends; what leaves is written once by value               (fig. 6)
//
// Columns. `fast` by use is the paper's t^DRAM_{t,k}, `stays` by gap its t^DRAM_{t,k+}: an edge of the flow graph is taken
// where two of them say so, so edges have no columns of their own. A move beside an op has a column of its own, for the
// `kBesideOps` ops next to the use (the artifact's bound=15). Times are in thousandths of the step, bytes in parts of the
// budget. A workspace is a tensor whose one use is its op; where implementations are chosen it counts the smallest, and
// the column of an implementation what it takes beyond. What implementation and placement cost beyond the first
// implementation with everything fast adds up: nobody times implementations by placement.
//
// Cost: linear in the uses, and 2^operands op times for each op with operands that can be slow.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "sluice/planners/autotm/placement.hpp"
#include "sluice/planners/ilp/derived_program.hpp"

namespace sluice::planners {

inline constexpr int kBesideOps = 15;
// Operands of one op of which every set has a time. Further ones cost what each costs alone.
inline constexpr std::size_t kMostConfigured = 6;

struct Formulation : DerivedProgram {
  struct PathColumns {
    std::vector<int> fast;                                             // by use: a column, or kAlways
    std::vector<int> stays;                                            // by gap
    std::vector<std::map<graph::OpIndex, int>> out_beside, in_beside;  // by gap
  };

  double seconds_per_unit = 1;          // of the objective
  double bytes_per_unit = 1;            // of loads
  std::vector<LoadSpan> loads;          // of the fast tier
  std::vector<PathColumns> columns_of;  // by unit; empty where there is nothing to decide
  // By op, of those that have a choice: a column for each alternative that is worth one, or kAlways for the only one.
  IdVector<graph::OpIndex, std::map<std::size_t, int>> alternatives;

  // The values of all columns, worked out from an answer that the program has, and back. Where `values` choose no
  // alternative it is the one with the smallest workspace, where several the one with the largest.
  std::vector<double> values_of(const PlacedStep& placed) const;
  PlacedStep placed_by(const PlacementProblem& problem, const std::vector<double>& values) const;
};

// An op whose operands that must be fast, with all that must stay meanwhile, exceed its limit: no plan is possible.
struct Overfull {
  graph::OpIndex op = 0;
  Bytes needed = 0;
};

// Nothing and `overfull` where there is no answer.
std::optional<Formulation> formulate(const PlacementProblem& problem, Movement movement, const Reductions& reductions,
                                     Overfull* overfull = nullptr);

}  // namespace sluice::planners
