// The columns and rows of the placement (placement_ilp.hpp), and what they mean.
//
// Times are in thousandths of the step, bytes in parts of the fast capacity, so that coefficients are near 1. Each load
// has a column of its own. A row says by how much the load changes from one maximum to the next. So a stretch is in two
// rows only, not in one row for every op that it covers.
#pragma once

#include <optional>
#include <vector>

#include "sluice/planners/redl/placement_ilp.hpp"

namespace sluice {

inline constexpr int kAlways = -1;  // instead of a column: the choice is fixed, to 1

struct PlacementProgram {
  IntegerProgram ilp;
  double seconds_per_unit = 1;            // of the objective
  std::vector<std::vector<int>> fast_of;  // column by unit and stretch, or kAlways
  std::vector<std::vector<int>> kept_of;  // column by unit and gap

  // Columns that follow from the choices, in the order in which they are computed. The value of each is the least that
  // satisfies its rows.
  struct Derived {
    int column = 0;
    std::vector<std::size_t> rows;  // each with this column at coefficient 1, and a lower bound
  };
  std::vector<Derived> derived;
  // For an op whose operands together do not cost the sum of what each costs alone: one column for every set of them in
  // the slow tier.
  struct Configurations {
    std::vector<int> fast;  // columns of the operands' stretches
    int first = 0;          // column of the empty set; bit i of the set stands for fast[i] being 0
  };
  std::vector<Configurations> configurations;

  // The values of all columns, worked out from the choices.
  std::vector<double> complete(const std::vector<UnitPlacement>& choices) const;
  std::vector<UnitPlacement> choices_of(const std::vector<double>& values) const;
};

// Empty when what must be in the fast tier exceeds its capacity.
std::optional<PlacementProgram> write_program(const RedlProblem& problem, const std::vector<StretchedUnit>& units,
                                              const Capacities& capacities);

}  // namespace sluice
