// What the columns of AutoTM's programs say, and what they are for a known answer.
#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/planners/autotm/formulation.hpp"

namespace sluice::planners {

std::vector<double> Formulation::values_of(const PlacedStep& placed) const {
  IdVector<int, double> values(ilp.columns.size(), 0);
  const auto set = [&](int column, bool chosen) {
    if (column != kAlways) values[column] = chosen ? 1 : 0;
  };
  for (std::size_t i = 0; i < columns_of.size(); ++i) {
    const PathColumns& columns = columns_of[i];
    const UnitPath& path = placed.paths[i];
    for (std::size_t use = 0; use < columns.fast.size(); ++use) set(columns.fast[use], path.fast[use]);
    for (std::size_t gap = 0; gap < columns.stays.size(); ++gap) set(columns.stays[gap], path.stays[gap]);
    for (std::size_t gap = 0; gap < columns.out_beside.size(); ++gap) {
      for (const auto& [op, column] : columns.out_beside[gap]) set(column, path.out_beside[gap] == op);
      for (const auto& [op, column] : columns.in_beside[gap]) set(column, path.in_beside[gap] == op);
    }
  }
  for (graph::OpIndex op = 0; op < as_id<graph::OpIndex>(alternatives.size()); ++op) {
    for (const auto& [each, column] : alternatives[op]) set(column, placed.alternative_of[op] == each);
  }
  derive(values);
  return values;
}

PlacedStep Formulation::placed_by(const PlacementProblem& problem, const std::vector<double>& values) const {
  const auto chosen = [&](int column) { return column == kAlways || values[as_index(column)] > 0.5; };
  const auto chosen_of = [&](const std::map<graph::OpIndex, int>& beside) {
    const auto found = std::ranges::find_if(beside, [&](const auto& entry) { return chosen(entry.second); });
    return found == beside.end() ? kBesideNoOp : found->first;
  };
  PlacedStep placed;
  for (std::size_t i = 0; i < columns_of.size(); ++i) {
    const MovingUnit& unit = problem.units[i];
    UnitPath path = unit.uses.empty() ? UnitPath{} : always_fast_path(unit);
    const PathColumns& columns = columns_of[i];
    for (std::size_t use = 0; use < columns.fast.size(); ++use) path.fast[use] = chosen(columns.fast[use]);
    for (std::size_t gap = 0; gap < columns.stays.size(); ++gap) {
      const std::size_t next = wraps(unit, gap) ? 0 : gap + 1;
      const bool nothing_between = !wraps(unit, gap) && unit.uses[gap].op + 1 == unit.uses[next].op;
      path.stays[gap] = chosen(columns.stays[gap]) || (nothing_between && path.fast[gap] && path.fast[next]);
      if (path.stays[gap] || columns.out_beside.empty()) continue;
      path.out_beside[gap] = chosen_of(columns.out_beside[gap]);
      path.in_beside[gap] = chosen_of(columns.in_beside[gap]);
    }
    placed.paths.push_back(std::move(path));
  }
  for (const std::map<std::size_t, int>& columns : alternatives) {
    std::size_t& alternative = placed.alternative_of.emplace_back(columns.empty() ? 0 : columns.begin()->first);
    for (const auto& [each, column] : columns) {
      if (chosen(column)) alternative = each;
    }
  }
  return placed;
}

}  // namespace sluice::planners
