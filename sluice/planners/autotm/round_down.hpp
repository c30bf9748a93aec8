// A first answer from the relaxation's optimum, in less than a second.
//
// Placements are nearly whole there: of the thousands of columns of ResNet-200, a few dozen are between 0 and 1. Rounded
// down, everything still fits and every row holds, because what is fast or stays only takes room; what has lost its
// place is moved directly beside its ops, or used where it lies. Then what was between is raised again, the largest
// first, where that fits and costs less. On kept problems with emulated Optane the answer is within 1 % of the relaxation's
// bound; behind PCIe, where every use is fast, 1 to 3 %.
#pragma once

#include "sluice/planners/autotm/formulation.hpp"

namespace sluice::planners {

// Values of all columns that satisfy the program. `relaxed`: those of the relaxation.
std::vector<double> round_down(const Formulation& program, const PlacementProblem& problem,
                               const std::vector<double>& relaxed);

}  // namespace sluice::planners
