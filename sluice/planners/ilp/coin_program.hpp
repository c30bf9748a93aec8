// Programs as COIN-OR's solvers take them. The one header with theirs; only this folder's sources include it.
#pragma once

#include <coin/OsiClpSolverInterface.hpp>

#include "sluice/planners/ilp/integer_program.hpp"

namespace sluice {

void load(const IntegerProgram& program, OsiClpSolverInterface& solver);

}  // namespace sluice
