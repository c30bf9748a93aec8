#include "sluice/planners/autotm/round_down.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"

namespace sluice {
namespace {

constexpr double kWhole = 1 - 1e-6;
constexpr double kNothing = 1e-6;
constexpr std::size_t kMostRaised = 400;  // columns that are tried

// Sets to 1 what the relaxation has there, the largest part first, where that fits and costs less.
std::vector<double> raised(const Formulation& program, const PlacementProblem& problem, std::vector<double> choices,
                           const std::vector<double>& relaxed) {
  std::vector<int> missing;
  for (int column = 0; column < static_cast<int>(relaxed.size()); ++column) {
    const bool wanted = program.ilp.columns[column].integer && relaxed[as_index(column)] > kNothing;
    if (wanted && choices[as_index(column)] < 0.5) missing.push_back(column);
  }
  std::ranges::stable_sort(missing, std::ranges::greater{}, [&](int column) { return relaxed[as_index(column)]; });
  if (missing.size() > kMostRaised) missing.resize(kMostRaised);
  const auto completed = [&] { return program.values_of(program.paths_of(problem, choices)); };
  std::vector<double> best = completed();
  double cost = program.ilp.cost_of(best);
  for (const int column : missing) {
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
  return best;
}

}  // namespace

std::vector<double> round_down(const Formulation& program, const PlacementProblem& problem,
                               const std::vector<double>& relaxed) {
  std::vector<double> choices = relaxed;
  for (std::size_t column = 0; column < relaxed.size(); ++column) choices[column] = relaxed[column] >= kWhole ? 1 : 0;
  return raised(program, problem, std::move(choices), relaxed);
}

std::vector<double> improve(const Formulation& program, const PlacementProblem& problem,
                            const std::vector<UnitPath>& start, const std::vector<double>& relaxed) {
  return raised(program, problem, program.values_of(start), relaxed);
}

}  // namespace sluice
