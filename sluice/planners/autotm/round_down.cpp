#include "sluice/planners/autotm/round_down.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/planners/autotm/hide_moves.hpp"

namespace sluice::planners {
namespace {

constexpr double kWhole = 1 - 1e-6;
constexpr double kNothing = 1e-6;
constexpr std::size_t kMostRaised = 400;  // columns that are tried

}  // namespace

std::vector<double> round_down(const Formulation& program, const PlacementProblem& problem,
                               const std::vector<double>& relaxed) {
  std::vector<double> choices = relaxed;
  std::vector<int> between;
  for (int column = 0; column < count_of(relaxed); ++column) {
    const double value = relaxed[as_index(column)];
    choices[as_index(column)] = value >= kWhole ? 1 : 0;
    if (program.ilp.columns[column].integer && value > kNothing && value < kWhole) between.push_back(column);
  }
  std::ranges::stable_sort(between, std::ranges::greater{}, [&](int column) { return relaxed[as_index(column)]; });
  if (between.size() > kMostRaised) between.resize(kMostRaised);
  const auto completed = [&] { return program.values_of(program.placed_by(problem, choices)); };
  std::vector<double> best = completed();
  double cost = program.ilp.cost_of(best);
  for (const int column : between) {
    choices[as_index(column)] = 1;
    std::vector<double> more = completed();
    const double more_cost = program.ilp.cost_of(more);
    if (more_cost < cost && program.ilp.violation(more) <= kNothing) {
      best = std::move(more);
      cost = more_cost;
    } else {
      choices[as_index(column)] = 0;
    }
  }
  std::vector<double> hidden = program.values_of(hide_moves(program, problem, program.placed_by(problem, best)));
  return program.ilp.cost_of(hidden) < cost && program.ilp.violation(hidden) <= kNothing ? hidden : best;
}

}  // namespace sluice::planners
