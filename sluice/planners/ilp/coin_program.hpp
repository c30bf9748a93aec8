// Programs as COIN-OR's solvers take them. The one header with theirs; only this folder's sources include it.
#pragma once

#include <coin/OsiClpSolverInterface.hpp>

#include "sluice/planners/ilp/integer_program.hpp"

namespace sluice {

void load(const IntegerProgram& program, OsiClpSolverInterface& solver);

// The relaxation, with presolve and by the primal method: a fourth of the time that the dual one takes for programs of
// flows.
void solve_flows(OsiClpSolverInterface& solver);

}  // namespace sluice
