#include <algorithm>
#include <chrono>
#include <cmath>
#include <coin/CbcEventHandler.hpp>
#include <coin/CbcHeuristic.hpp>
#include <coin/CbcHeuristicRINS.hpp>
#include <coin/CbcModel.hpp>
#include <coin/CglFlowCover.hpp>
#include <coin/CglKnapsackCover.hpp>
#include <coin/CglMixedIntegerRounding2.hpp>

#include "sluice/base/as_index.hpp"
#include "sluice/base/check.hpp"
#include "sluice/planners/ilp/coin_program.hpp"

namespace sluice::planners {
namespace {

constexpr double kTolerance = 1e-6;  // of integers, and of gaps
constexpr double kFeasible = 1e-4;   // a row broken by less is not broken: scaled programs, floating point

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
    if (program.columns[i].integer && !is_integral(values[i])) columns.push_back(as_id<int>(i));
  }
  return columns;
}

// With bounds changed: from the last basis, whose factorization is kept, which halves the time.
bool resolve(ClpSimplex& solver) {
  constexpr int kKeepFactorization = 1, kUseFactorization = 2;
  solver.dual(0, kKeepFactorization | kUseFactorization);
  return solver.isProvenOptimal();
}

// From the relaxation's optimum to integers: the column nearest to an integer, of those between two, is fixed at it, or
// where that cannot be at the other one; then the rest is solved again, which starts from the last answer. Placements
// have few such columns. `halfway`: from which share on the upper one is nearer. Empty when it ends nowhere.
std::vector<double> dive(const IntegerProgram& program, ClpSimplex solver, double halfway,
                         const std::function<bool()>& out_of_time) {
  constexpr int kMostRounds = 3000;
  for (int round = 0; round < kMostRounds && !out_of_time(); ++round) {
    const double* values = solver.primalColumnSolution();
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
    solver.setColumnBounds(column, nearest, nearest);
    if (resolve(solver)) continue;
    solver.setColumnBounds(column, other, other);
    if (!resolve(solver)) break;
  }
  return {};
}

void add_cuts(CbcModel& model) {
  CglKnapsackCover covers;
  CglFlowCover flows;
  CglMixedIntegerRounding2 rounding;
  model.addCutGenerator(&covers, -5, "knapsack cover");
  model.addCutGenerator(&flows, -5, "flow cover");
  model.addCutGenerator(&rounding, -5, "mixed integer rounding");
}

void add_heuristics(CbcModel& model) {
  CbcRounding simple(model);
  CbcHeuristicRINS neighbourhood(model);
  model.addHeuristic(&simple);
  model.addHeuristic(&neighbourhood);
}

// Tells the caller how far CBC is, and asks whether to go on.
class WatchingHandler final : public CbcEventHandler {
 public:
  explicit WatchingHandler(std::function<bool()> go_on) : go_on_(std::move(go_on)) {}

  CbcAction event(CbcEvent event) override {
    const bool asks = event == node || event == treeStatus || event == solution || event == heuristicSolution;
    return asks && !go_on_() ? stop : noAction;
  }
  CbcEventHandler* clone() const override { return new WatchingHandler(*this); }

 private:
  std::function<bool()> go_on_;
};

// One call of solve(): the relaxation, dives, CBC.
class Solving {
 public:
  Solving(const IntegerProgram& program, const SolveLimits& limits, const SolveWatch& watch,
          const RelaxedRounding& rounding)
      : program_(program), limits_(limits), watch_(watch), rounding_(rounding) {}

  IlpSolution run(const std::vector<double>& start) {
    if (!start.empty()) take_if_better(start);
    load(program_, relaxation_);
    relaxation_.getModelPtr()->setMaximumWallSeconds(limits_.seconds);
    relaxation_.getModelPtr()->setRandomSeed(limits_.seed);
    const StoppingHandler handler([this] { return watch_.stopped(); });
    relaxation_.getModelPtr()->passInEventHandler(&handler);  // which it copies
    solve_flows(relaxation_);
    if (!relaxation_.isProvenOptimal()) return without_relaxation();
    solution_.bound = relaxation_.getObjValue();
    report(solution_.bound);
    const double* const values = relaxation_.getColSolution();
    if (rounding_) take_if_sound(rounding_({values, values + program_.columns.size()}));
    for (int i = 0; i < std::min(limits_.dives, kMostDives) && wanting() && !out_of_time(); ++i) {
      take_if_sound(dive(program_, *relaxation_.getModelPtr(), kHalfway[i], [this] { return out_of_time(); }));
    }
    finish();
    return std::move(solution_);
  }

 private:
  static constexpr double kHalfway[] = {0.5, 0.3, 0.7};
  static constexpr int kMostDives = std::size(kHalfway);

  Seconds elapsed() const { return std::chrono::duration<Seconds>(std::chrono::steady_clock::now() - begin_).count(); }
  bool out_of_time() const { return watch_.stopped() || elapsed() > limits_.seconds; }
  bool wanting() const { return solution_.values.empty() || solution_.gap() > limits_.gap; }

  void report(double bound) const {
    if (watch_.progress) watch_.progress(solution_.values.empty() ? kUnbounded : solution_.cost, bound, elapsed());
  }

  void take_if_better(const std::vector<double>& values) {
    const double cost = program_.cost_of(values);
    if (!solution_.values.empty() && cost >= solution_.cost) return;
    solution_.values = values;
    solution_.cost = cost;
  }

  void take_if_sound(const std::vector<double>& values) {
    if (!values.empty() && program_.violation(values) < kFeasible) take_if_better(values);
    report(solution_.bound);
  }

  // Out of time, unless there is nothing to find or the solver gave up.
  IlpSolution without_relaxation() {
    const bool no_start = solution_.values.empty();
    if (no_start && relaxation_.isProvenPrimalInfeasible()) {
      solution_.status = SolveStatus::kInfeasible;
    } else if (watch_.stopped()) {
      solution_.status = SolveStatus::kStopped;
    } else if (elapsed() < limits_.seconds) {
      solution_.status = SolveStatus::kFailed;
    }
    return std::move(solution_);
  }

  void finish() {
    if (!wanting()) {
      solution_.status = SolveStatus::kWithinGap;
    } else if (watch_.stopped()) {
      solution_.status = SolveStatus::kStopped;
    } else if (out_of_time()) {
      solution_.status = SolveStatus::kTimeLimit;
    } else if (std::ranges::count(program_.columns, true, &Column::integer) > limits_.columns) {
      solution_.status = SolveStatus::kRounded;
    } else {
      branch_and_bound();
    }
    if (solution_.values.empty()) return;
    solution_.bound = std::min(solution_.bound, solution_.cost);
    if (solution_.gap() <= kTolerance) solution_.status = SolveStatus::kOptimal;
  }

  // CBC, from the solution so far.
  void branch_and_bound() {
    OsiClpSolverInterface solver;
    load(program_, solver);
    CbcModel model(solver);
    const Seconds rest = std::max(0.0, limits_.seconds - elapsed());
    set_up(model, rest);
    solution_.status = SolveStatus::kTimeLimit;
    model.initialSolve();
    if (!model.solver()->isProvenOptimal()) return;
    model.branchAndBound();
    take_answer_of(model);
  }

  void set_up(CbcModel& model, Seconds seconds) const {
    model.setLogLevel(0);
    model.setUseElapsedTime(true);
    model.setMaximumSeconds(seconds);
    model.setMaximumNodes(limits_.nodes);
    model.setAllowableFractionGap(limits_.gap);
    model.solver()->setHintParam(OsiDoReducePrint, true, OsiHintTry);
    dynamic_cast<OsiClpSolverInterface&>(*model.solver()).getModelPtr()->setMaximumWallSeconds(seconds);
    model.setRandomSeed(limits_.seed);
    if (limits_.threads > 1) model.setNumberThreads(limits_.threads);
    if (limits_.cuts) add_cuts(model);
    add_heuristics(model);
    WatchingHandler handler([this, &model] {
      if (watch_.progress) watch_.progress(model.getObjValue(), model.getBestPossibleObjValue(), elapsed());
      return !watch_.stopped();
    });
    model.passInEventHandler(&handler);  // which it copies
    if (solution_.values.empty()) return;
    model.setBestSolution(solution_.values.data(), count_of(solution_.values), solution_.cost, false);
  }

  void take_answer_of(const CbcModel& model) {
    if (solution_.values.empty() && model.isProvenInfeasible()) {
      solution_.status = SolveStatus::kInfeasible;
      return;
    }
    solution_.bound = std::max(solution_.bound, model.getBestPossibleObjValue());
    if (model.bestSolution() != nullptr) take_if_better(rounded(program_, model.bestSolution()));
    // Where nothing better than the start can be, CBC says so without raising its bound.
    if (model.isProvenOptimal() && !solution_.values.empty()) {
      solution_.bound = std::max(solution_.bound, solution_.cost - limits_.gap * std::abs(solution_.cost));
    }
    if (model.isProvenOptimal() || !wanting()) {  // optimal to the gap: its bound may be a rounding error beyond
      solution_.status = SolveStatus::kWithinGap;
    } else if (watch_.stopped()) {
      solution_.status = SolveStatus::kStopped;
    } else if (!model.isSecondsLimitReached()) {
      solution_.status = model.isAbandoned() ? SolveStatus::kFailed : SolveStatus::kNodeLimit;
    }
  }

  const IntegerProgram& program_;
  const SolveLimits& limits_;
  const SolveWatch& watch_;
  const RelaxedRounding& rounding_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  OsiClpSolverInterface relaxation_;
  IlpSolution solution_{.status = SolveStatus::kTimeLimit, .values = {}};
};

}  // namespace

IlpSolution solve(const IntegerProgram& program, const SolveLimits& limits, const std::vector<double>& start,
                  const SolveWatch& watch, const RelaxedRounding& rounding) {
  SLUICE_CHECK(start.empty() || (start.size() == program.columns.size() && program.violation(start) < kFeasible),
               "the start satisfies the program");
  return Solving(program, limits, watch, rounding).run(start);
}

}  // namespace sluice::planners
