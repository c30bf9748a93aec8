#include "sluice/planners/ilp/integer_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sluice/base/as_index.hpp"

namespace sluice::planners {

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
    for (const Term& term : row.terms) sum += term.coefficient * values[as_index(term.column)];
    worst = std::max({worst, row.lower - sum, sum - row.upper});
  }
  return worst;
}

double IlpSolution::gap() const {
  const double difference = cost - bound;
  return difference <= 0 ? 0 : difference / std::max(std::abs(cost), 1e-300);
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
    case SolveStatus::kStopped:
      return "stopped, " + gap;
    case SolveStatus::kInfeasible:
      return "infeasible";
    case SolveStatus::kFailed:
      return "the solver failed, " + gap;
  }
  return "";
}

}  // namespace sluice::planners
