// The columns and rows of the placement (placement_ilp.hpp), and what they mean.
//
// Times are in thousandths of the step, bytes in parts of the fast capacity, so that coefficients are near 1.
#pragma once

#include <optional>
#include <vector>

#include "sluice/planners/ilp/derived_program.hpp"
#include "sluice/planners/redl/placement_ilp.hpp"

namespace sluice::planners {

struct PlacementProgram : DerivedProgram {
  double seconds_per_unit = 1;            // of the objective
  std::vector<std::vector<int>> fast_of;  // column by unit and stretch, or kAlways
  std::vector<std::vector<int>> kept_of;  // column by unit and gap

  // The values of all columns, worked out from the choices.
  std::vector<double> complete(const std::vector<UnitPlacement>& choices) const;
  std::vector<UnitPlacement> choices_of(const std::vector<double>& values) const;
};

// Empty when what must be in the fast tier exceeds its capacity.
std::optional<PlacementProgram> write_program(const RedlProblem& problem, const std::vector<StretchedUnit>& units,
                                              const Capacities& capacities);

}  // namespace sluice::planners
