// Linear programs with integer columns, and their solution with CBC (COIN-OR branch and cut) and Clp, its LP solver.
// Planners that place tensors by integer programming (ReDL §III-B, AutoTM §3) say columns and rows here; no solver's
// header is seen outside this folder.
//
//   minimise  sum of cost x value   such that   lower <= row <= upper for every row, lower <= value <= upper
//
// Limits. The node limit is there so that equal programs get equal answers on a busy machine and on an idle one; the
// time limit (wall clock) is for what the node limit does not catch, and where it strikes the answer depends on the
// machine. The program is best scaled so that its coefficients are near 1.
//
// No threads, unless the limits ask for them. Several programs may be solved at once.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/base/id_vector.hpp"
#include "sluice/base/result.hpp"
#include "sluice/base/units.hpp"

namespace sluice::planners {

inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();

struct Term {
  int column = 0;
  double coefficient = 0;
};

struct Column {
  double cost = 0;
  double lower = 0;
  double upper = kUnbounded;
  bool integer = false;
};

struct Row {
  std::vector<Term> terms;  // each column at most once
  double lower = -kUnbounded;
  double upper = kUnbounded;
};

struct IntegerProgram {
  IdVector<int, Column> columns;
  std::vector<Row> rows;

  int add(const Column& column) {
    columns.push_back(column);
    return count_of(columns) - 1;
  }
  double cost_of(const std::vector<double>& values) const;
  // Largest violation of a row, a bound or an integer column.
  double violation(const std::vector<double>& values) const;
};

struct SolveLimits {
  Seconds seconds = 5;
  int nodes = 50;     // of branch and bound
  int columns = 100;  // integer columns of the largest program that is worth branching on: CBC gains little on larger
  int dives = 3;      // from the relaxation's optimum, at most
  double gap = 0.01;  // good enough: a cost within this share of the bound
  int threads = 1;    // of branch and bound; more than one keeps the answer's gap, not the answer
  int seed = 0;       // of what solvers decide by lot
  bool cuts = true;   // covers, flow covers and rounded rows, which make relaxations tighter while branching
};

// kStopped: the caller's wish. kInfeasible is proved; kFailed is not: the solver gave up by itself.
enum class SolveStatus { kOptimal, kWithinGap, kRounded, kNodeLimit, kTimeLimit, kStopped, kInfeasible, kFailed };

// For a caller who waits. Each may be left empty; called on the solving thread.
struct SolveWatch {
  // The best answer so far, infinite where there is none, the bound, and the time since the beginning.
  std::function<void(double incumbent, double bound, Seconds elapsed)> progress = {};
  // Once it says true, the best answer so far is the answer.
  std::function<bool()> stop = {};

  bool stopped() const { return stop && stop(); }
};

// Makes integers of the relaxation's values, knowing what the columns mean; what satisfies the program is taken.
using RelaxedRounding = std::function<std::vector<double>(const std::vector<double>& relaxed)>;

struct IlpSolution {
  SolveStatus status = SolveStatus::kInfeasible;
  std::vector<double> values;  // by column; empty when none was found
  double cost = 0;
  double bound = -kUnbounded;  // no solution costs less

  double gap() const;  // (cost - bound) / cost; 0 when both are 0
};

struct LpSolution {
  SolveStatus status = SolveStatus::kInfeasible;  // kOptimal, kTimeLimit (no values) or kInfeasible
  std::vector<double> values;
  double cost = 0;
  std::vector<double> row_prices;  // by row: what the cost gains for each unit that its bounds rise
};

// Solves the program with its integer columns taken as continuous: gives a bound, and a guide for rounding.
LpSolution solve_relaxation(const IntegerProgram& program, Seconds seconds);

// LpSolution::row_prices, nearly: by Clp's barrier method, which takes half the time of simplex for programs of flows,
// and by simplex where that does not converge. Of several optima not always a corner. Empty when there is none, or none
// in time.
std::vector<double> find_row_prices(const IntegerProgram& program, Seconds seconds);

// Solves the relaxation, rounds it by `rounding` where there is one, then dives from its optimum to integers. Each is
// only done where the result so far is not good enough; at last CBC runs within the limits.
//
// `start`: values that satisfy the program, by column, or empty. With a start there is always an answer: the start
// itself, at worst. A start that does not satisfy the program is a broken invariant.
IlpSolution solve(const IntegerProgram& program, const SolveLimits& limits, const std::vector<double>& start = {},
                  const SolveWatch& watch = {}, const RelaxedRounding& rounding = {});

// As other solvers read it, in free MPS. Unwritable: kIo.
Status write_mps(const IntegerProgram& program, const std::string& path);

// "optimal", "within 0.5 % of the optimum", "rounded relaxation, gap 1.2 %", "time limit, gap 0.8 %", "infeasible".
std::string describe(const IlpSolution& solution);

}  // namespace sluice::planners
