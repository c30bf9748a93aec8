#include "sluice/planners/ilp/integer_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <coin/CbcHeuristic.hpp>
#include <coin/CbcHeuristicRINS.hpp>
#include <coin/CbcModel.hpp>
#include <coin/CglFlowCover.hpp>
#include <coin/CglKnapsackCover.hpp>
#include <coin/CglMixedIntegerRounding2.hpp>
#include <coin/ClpCholeskyBase.hpp>
#include <coin/ClpInterior.hpp>
#include <coin/OsiClpSolverInterface.hpp>

#include "sluice/base/check.hpp"

namespace sluice {
namespace {

constexpr double kTolerance = 1e-6;  // of integers, and of gaps
constexpr double kFeasible = 1e-4;   // a row broken by less is not broken: scaled programs, floating point

double coin_bound(double bound) { return std::isinf(bound) ? std::copysign(COIN_DBL_MAX, bound) : bound; }

CoinPackedMatrix matrix_of(const IntegerProgram& program) {
  std::vector<double> coefficients;
  std::vector<int> columns, lengths;
  std::vector<CoinBigIndex> starts;
  for (const Row& row : program.rows) {
    starts.push_back(static_cast<CoinBigIndex>(columns.size()));
    lengths.push_back(static_cast<int>(row.terms.size()));
    for (const Term& term : row.terms) {
      columns.push_back(term.column);
      coefficients.push_back(term.coefficient);
    }
  }
  return {/*colordered=*/false,
          static_cast<int>(program.columns.size()),
          static_cast<int>(program.rows.size()),
          static_cast<CoinBigIndex>(columns.size()),
          coefficients.data(),
          columns.data(),
          starts.data(),
          lengths.data()};
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

bool is_integral(double value) { return std::abs(value - std::round(value)) <= kTolerance; }

// Columns of integers whose value in the relaxation is between two.
std::vector<int> fractional_columns(const IntegerProgram& program, const double* values) {
  std::vector<int> columns;
  for (std::size_t i = 0; i < program.columns.size(); ++i) {
    if (program.columns[i].integer && !is_integral(values[i])) columns.push_back(static_cast<int>(i));
  }
  return columns;
}

bool resolve(OsiClpSolverInterface& solver) {
  solver.resolve();
  return solver.isProvenOptimal();
}

// From the relaxation's optimum to integers: the column nearest to an integer, of those between two, is fixed at it, or
// where that cannot be at the other one; then the rest is solved again, which starts from the last answer and takes
// less than a millisecond. Placements have few such columns. `halfway`: from which share on the upper one is nearer.
// Empty when it ends nowhere.
std::vector<double> dive(const IntegerProgram& program, OsiClpSolverInterface solver, double halfway) {
  constexpr int kMostRounds = 3000;
  for (int round = 0; round < kMostRounds; ++round) {
    const double* values = solver.getColSolution();
    const std::vector<int> columns = fractional_columns(program, values);
    if (columns.empty()) return rounded(program, values);
    const auto upwards = [&](int column) { return values[column] - std::floor(values[column]) >= halfway; };
    const auto distance = [&](int column) {
      const double share = values[column] - std::floor(values[column]);
      return upwards(column) ? (1 - share) / (1 - halfway) : share / halfway;
    };
    const int column = *std::ranges::min_element(columns, {}, distance);
    const double nearest = std::floor(values[column]) + (upwards(column) ? 1 : 0);
    const double other = upwards(column) ? nearest - 1 : nearest + 1;
    solver.setColBounds(column, nearest, nearest);
    if (resolve(solver)) continue;
    solver.setColBounds(column, other, other);
    if (!resolve(solver)) break;
  }
  return {};
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

void take_if_better(const IntegerProgram& program, const std::vector<double>& values, IlpSolution& solution) {
  const double cost = program.cost_of(values);
  if (!solution.values.empty() && cost >= solution.cost) return;
  solution.values = values;
  solution.cost = cost;
}

// CBC, from the solution so far.
void branch_and_bound(const IntegerProgram& program, const SolveLimits& limits, IlpSolution& solution) {
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
  if (!solution.values.empty()) {
    model.setBestSolution(solution.values.data(), static_cast<int>(solution.values.size()), solution.cost, false);
  }
  solution.status = SolveStatus::kTimeLimit;
  model.initialSolve();
  if (!model.solver()->isProvenOptimal()) return;
  model.branchAndBound();
  if (solution.values.empty() && model.isProvenInfeasible()) {
    solution.status = SolveStatus::kInfeasible;
    return;
  }
  solution.bound = std::max(solution.bound, model.getBestPossibleObjValue());
  if (model.bestSolution() != nullptr) take_if_better(program, rounded(program, model.bestSolution()), solution);
  if (solution.gap() <= limits.gap) {
    solution.status = SolveStatus::kWithinGap;
  } else if (!model.isSecondsLimitReached()) {
    solution.status = SolveStatus::kNodeLimit;
  }
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
  // Presolve and the primal method: a fourth of the time that the dual one takes for programs of flows.
  solver.setHintParam(OsiDoPresolveInInitial, true, OsiHintDo);
  solver.setHintParam(OsiDoDualInInitial, false, OsiHintDo);
  solver.initialSolve();
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

IlpSolution solve(const IntegerProgram& program, const SolveLimits& limits, const std::vector<double>& start) {
  const auto begin = std::chrono::steady_clock::now();
  IlpSolution solution{.status = SolveStatus::kTimeLimit, .values = {}};
  if (!start.empty()) {
    SLUICE_CHECK(start.size() == program.columns.size() && program.violation(start) < kFeasible,
                 "the start satisfies the program");
    take_if_better(program, start, solution);
  }
  OsiClpSolverInterface relaxation;
  load(program, relaxation);
  relaxation.getModelPtr()->setMaximumWallSeconds(limits.seconds);
  relaxation.initialSolve();
  if (!relaxation.isProvenOptimal()) {
    // Out of time, unless there is nothing to find.
    if (start.empty() && relaxation.isProvenPrimalInfeasible()) solution.status = SolveStatus::kInfeasible;
    return solution;
  }
  solution.bound = relaxation.getObjValue();
  const auto wanting = [&] { return solution.values.empty() || solution.gap() > limits.gap; };
  for (const double halfway : {0.5, 0.3, 0.7}) {
    if (!wanting()) break;
    const std::vector<double> dived = dive(program, relaxation, halfway);
    if (!dived.empty() && program.violation(dived) < kFeasible) take_if_better(program, dived, solution);
  }
  if (!wanting()) {
    solution.status = SolveStatus::kWithinGap;
  } else if (std::ranges::count(program.columns, true, &Column::integer) > limits.columns) {
    solution.status = SolveStatus::kRounded;
  } else {
    const Seconds spent = std::chrono::duration<Seconds>(std::chrono::steady_clock::now() - begin).count();
    SolveLimits rest = limits;
    rest.seconds = std::max(0.0, limits.seconds - spent);
    branch_and_bound(program, rest, solution);
  }
  if (solution.values.empty()) return solution;
  solution.bound = std::min(solution.bound, solution.cost);
  if (solution.gap() <= kTolerance) solution.status = SolveStatus::kOptimal;
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
    case SolveStatus::kRounded:
      return "rounded relaxation, " + gap;
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
