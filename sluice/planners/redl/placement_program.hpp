// The columns and rows of the placement (placement_ilp.hpp), and what they mean.
//
// Times are in thousandths of the step, bytes in parts of the fast capacity, so that coefficients are near 1. Loads are
// kept in columns of their own, one behind the other: a row says by how much the load changes from one maximum to the
// next. A stretch is then in two rows and not in one for every op it covers.
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

  // Columns that follow from the choices: the least value that satisfies these rows, in order.
  struct Derived {
    int column = 0;
    std::vector<std::size_t> rows;  // each with this column at coefficient 1, and a lower bound
  };
  std::vector<Derived> derived;
  // Of an op whose operands cost something else together: one column for every set of them in the slow tier.
  struct Configurations {
    std::vector<int> fast;  // columns of the operands' stretches
    int first = 0;          // column of the empty set; bit i of the set stands for fast[i] being 0
  };
  std::vector<Configurations> configurations;

  // All columns from the choices.
  std::vector<double> complete(const std::vector<UnitPlacement>& choices) const;
  std::vector<UnitPlacement> choices_of(const std::vector<double>& values) const;
};

// Empty when what must be in the fast tier exceeds its capacity.
std::optional<PlacementProgram> write_program(const RedlProblem& problem, const std::vector<StretchedUnit>& units,
                                              const Capacities& capacities);

}  // namespace sluice
