#include "sluice/planners/ilp/integer_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <coin/CbcHeuristic.hpp>
#include <coin/CbcHeuristicRINS.hpp>
#include <coin/CbcModel.hpp>
#include <coin/CglFlowCover.hpp>
#include <coin/CglKnapsackCover.hpp>
#include <coin/CglMixedIntegerRounding2.hpp>
#include <coin/OsiClpSolverInterface.hpp>

#include "sluice/base/check.hpp"

namespace sluice {
namespace {

constexpr double kTolerance = 1e-6;

double coin_bound(double bound) { return std::isinf(bound) ? std::copysign(COIN_DBL_MAX, bound) : bound; }

CoinPackedMatrix matrix_of(const IntegerProgram& program) {
  CoinPackedMatrix matrix(/*colordered=*/false, 0, 0);
  matrix.setDimensions(0, static_cast<int>(program.columns.size()));
  for (const Row& row : program.rows) {
    CoinPackedVector terms;
    for (const Term& term : row.terms) terms.insert(term.column, term.coefficient);
    matrix.appendRow(terms);
  }
  return matrix;
}

void load(const IntegerProgram& program, OsiClpSolverInterface& solver) {
  std::vector<double> lower, upper, cost, row_lower, row_upper;
  for (const Column& column : program.columns) {
    lower.push_back(coin_bound(column.lower));
    upper.push_back(coin_bound(column.upper));
    cost.push_back(column.cost);
  }
  for (const Row& row : program.rows) {
    row_lower.push_back(coin_bound(row.lower));
    row_upper.push_back(coin_bound(row.upper));
  }
  solver.loadProblem(matrix_of(program), lower.data(), upper.data(), cost.data(), row_lower.data(), row_upper.data());
  for (std::size_t i = 0; i < program.columns.size(); ++i) {
    if (program.columns[i].integer) solver.setInteger(static_cast<int>(i));
  }
  solver.messageHandler()->setLogLevel(0);
  solver.getModelPtr()->messageHandler()->setLogLevel(0);
  solver.setHintParam(OsiDoReducePrint, true, OsiHintTry);
}

std::vector<double> rounded(const IntegerProgram& program, const double* values) {
  std::vector<double> result(values, values + program.columns.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (program.columns[i].integer) result[i] = std::round(result[i]);
  }
  return result;
}

void add_cuts_and_heuristics(CbcModel& model) {
  CglKnapsackCover covers;
  CglFlowCover flows;
  CglMixedIntegerRounding2 rounding;
  model.addCutGenerator(&covers, -5, "knapsack cover");
  model.addCutGenerator(&flows, -5, "flow cover");
  model.addCutGenerator(&rounding, -5, "mixed integer rounding");
  CbcRounding simple(model);
  CbcHeuristicRINS neighbourhood(model);
  model.addHeuristic(&simple);
  model.addHeuristic(&neighbourhood);
}

SolveStatus status_of(const CbcModel& model, const IlpSolution& solution, const SolveLimits& limits) {
  if (solution.gap() <= kTolerance) return SolveStatus::kOptimal;
  if (solution.gap() <= limits.gap) return SolveStatus::kWithinGap;
  return model.isNodeLimitReached() ? SolveStatus::kNodeLimit : SolveStatus::kTimeLimit;
}

}  // namespace

double IntegerProgram::cost_of(const std::vector<double>& values) const {
  double cost = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) cost += columns[i].cost * values[i];
  return cost;
}

double IntegerProgram::violation(const std::vector<double>& values) const {
  double worst = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Column& column = columns[i];
    worst = std::max({worst, column.lower - values[i], values[i] - column.upper});
    if (column.integer) worst = std::max(worst, std::abs(values[i] - std::round(values[i])));
  }
  for (const Row& row : rows) {
    double sum = 0;
    for (const Term& term : row.terms) sum += term.coefficient * values[static_cast<std::size_t>(term.column)];
    worst = std::max({worst, row.lower - sum, sum - row.upper});
  }
  return worst;
}

double IlpSolution::gap() const {
  const double difference = cost - bound;
  return difference <= 0 ? 0 : difference / std::max(std::abs(cost), 1e-300);
}

LpSolution solve_relaxation(const IntegerProgram& program, Seconds seconds) {
  OsiClpSolverInterface solver;
  load(program, solver);
  solver.getModelPtr()->setMaximumWallSeconds(seconds);
  solver.initialSolve();
  if (solver.isProvenPrimalInfeasible()) return {.status = SolveStatus::kInfeasible, .values = {}};
  if (!solver.isProvenOptimal()) return {.status = SolveStatus::kTimeLimit, .values = {}};
  const double* values = solver.getColSolution();
  return {.status = SolveStatus::kOptimal,
          .values = {values, values + program.columns.size()},
          .cost = solver.getObjValue()};
}

IlpSolution solve(const IntegerProgram& program, const SolveLimits& limits, const std::vector<double>& start) {
  IlpSolution solution;
  if (!start.empty()) {
    SLUICE_CHECK(start.size() == program.columns.size() && program.violation(start) < 1e-4,
                 "the start satisfies the program");
    solution = {.status = SolveStatus::kTimeLimit, .values = start, .cost = program.cost_of(start)};
  }
  OsiClpSolverInterface solver;
  load(program, solver);
  CbcModel model(solver);
  model.setLogLevel(0);
  model.setUseElapsedTime(true);
  model.setMaximumSeconds(limits.seconds);
  model.setMaximumNodes(limits.nodes);
  model.setAllowableFractionGap(limits.gap);
  model.solver()->setHintParam(OsiDoReducePrint, true, OsiHintTry);
  dynamic_cast<OsiClpSolverInterface&>(*model.solver()).getModelPtr()->setMaximumWallSeconds(limits.seconds);
  add_cuts_and_heuristics(model);
  if (!start.empty()) {
    model.setBestSolution(start.data(), static_cast<int>(start.size()), solution.cost, /*check=*/false);
  }
  model.initialSolve();
  if (!model.solver()->isProvenOptimal()) {
    // Out of time in the first linear program, unless there is nothing to find.
    const bool nothing = start.empty() && model.solver()->isProvenPrimalInfeasible();
    solution.status = nothing ? SolveStatus::kInfeasible : SolveStatus::kTimeLimit;
    return solution;
  }
  model.branchAndBound();
  solution.bound = model.getBestPossibleObjValue();
  if (model.bestSolution() != nullptr) {
    std::vector<double> values = rounded(program, model.bestSolution());
    if (solution.values.empty() || program.cost_of(values) < solution.cost) {
      solution.cost = program.cost_of(values);
      solution.values = std::move(values);
    }
  }
  if (solution.values.empty() && model.isProvenInfeasible()) return {.status = SolveStatus::kInfeasible, .values = {}};
  if (model.isProvenOptimal() && limits.gap <= 0) solution.bound = solution.cost;
  solution.bound = std::min(solution.bound, solution.cost);
  solution.status = status_of(model, solution, limits);
  return solution;
}

std::string describe(const IlpSolution& solution) {
  const double percent = 100 * solution.gap();
  const std::string gap = std::isinf(solution.bound) ? "gap unknown" : fmt::format("gap {:.2g} %", percent);
  switch (solution.status) {
    case SolveStatus::kOptimal:
      return "optimal";
    case SolveStatus::kWithinGap:
      return fmt::format("within {:.2g} % of the optimum", percent);
    case SolveStatus::kNodeLimit:
      return "node limit, " + gap;
    case SolveStatus::kTimeLimit:
      return "time limit, " + gap;
    case SolveStatus::kInfeasible:
      return "infeasible";
  }
  return "";
}

}  // namespace sluice
