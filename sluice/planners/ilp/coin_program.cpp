#include "sluice/planners/ilp/coin_program.hpp"

#include <cmath>

#include "sluice/base/as_index.hpp"

namespace sluice::planners {
namespace {

double coin_bound(double bound) { return std::isinf(bound) ? std::copysign(COIN_DBL_MAX, bound) : bound; }

CoinPackedMatrix matrix_of(const IntegerProgram& program) {
  std::vector<double> coefficients;
  std::vector<int> columns, lengths;
  std::vector<CoinBigIndex> starts;
  for (const Row& row : program.rows) {
    starts.push_back(static_cast<CoinBigIndex>(columns.size()));
    lengths.push_back(count_of(row.terms));
    for (const Term& term : row.terms) {
      columns.push_back(term.column);
      coefficients.push_back(term.coefficient);
    }
  }
  return {/*colordered=*/false,   count_of(program.columns),
          count_of(program.rows), static_cast<CoinBigIndex>(columns.size()),
          coefficients.data(),    columns.data(),
          starts.data(),          lengths.data()};
}

}  // namespace

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
    if (program.columns[i].integer) solver.setInteger(as_id<int>(i));
  }
  solver.messageHandler()->setLogLevel(0);
  solver.getModelPtr()->messageHandler()->setLogLevel(0);
  solver.setHintParam(OsiDoReducePrint, true, OsiHintTry);
}

void solve_flows(OsiClpSolverInterface& solver) {
  solver.setHintParam(OsiDoPresolveInInitial, true, OsiHintDo);
  solver.setHintParam(OsiDoDualInInitial, false, OsiHintDo);
  solver.initialSolve();
}

}  // namespace sluice::planners
