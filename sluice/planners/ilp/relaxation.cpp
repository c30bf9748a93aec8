#include <coin/ClpCholeskyBase.hpp>
#include <coin/ClpInterior.hpp>

#include "sluice/planners/ilp/coin_program.hpp"

namespace sluice::planners {

LpSolution solve_relaxation(const IntegerProgram& program, Seconds seconds) {
  OsiClpSolverInterface solver;
  load(program, solver);
  solver.getModelPtr()->setMaximumWallSeconds(seconds);
  solve_flows(solver);
  if (solver.isProvenPrimalInfeasible()) return {.status = SolveStatus::kInfeasible, .values = {}};
  if (!solver.isProvenOptimal()) return {.status = SolveStatus::kTimeLimit, .values = {}};
  const double* values = solver.getColSolution();
  const double* prices = solver.getRowPrice();
  return {.status = SolveStatus::kOptimal,
          .values = {values, values + program.columns.size()},
          .cost = solver.getObjValue(),
          .row_prices = {prices, prices + program.rows.size()}};
}

std::vector<double> find_row_prices(const IntegerProgram& program, Seconds seconds) {
  OsiClpSolverInterface loaded;
  load(program, loaded);
  ClpInterior barrier;
  barrier.setLogLevel(0);
  barrier.loadProblem(*loaded.getMatrixByCol(), loaded.getColLower(), loaded.getColUpper(), loaded.getObjCoefficients(),
                      loaded.getRowLower(), loaded.getRowUpper());
  barrier.setMaximumSeconds(seconds);
  barrier.setCholesky(new ClpCholeskyBase);  // which `barrier` owns
  if (barrier.primalDual() != 0) return solve_relaxation(program, seconds).row_prices;
  const double* prices = barrier.dualRowSolution();
  return {prices, prices + program.rows.size()};
}

}  // namespace sluice::planners
