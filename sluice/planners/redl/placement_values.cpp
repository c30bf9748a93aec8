#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/planners/redl/placement_program.hpp"

namespace sluice::planners {

std::vector<double> PlacementProgram::complete(const std::vector<UnitPlacement>& choices) const {
  IdVector<int, double> values(ilp.columns.size(), 0);
  const auto set = [&](const std::vector<int>& columns, const std::vector<bool>& chosen) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] != kAlways) values[columns[i]] = chosen[i] ? 1 : 0;
    }
  };
  for (std::size_t i = 0; i < choices.size(); ++i) {
    set(fast_of[i], choices[i].fast);
    set(kept_of[i], choices[i].kept);
  }
  derive(values);
  return values;
}

std::vector<UnitPlacement> PlacementProgram::choices_of(const std::vector<double>& values) const {
  const auto chosen = [&](const std::vector<int>& columns) {
    std::vector<bool> result;
    for (const int column : columns) {
      result.push_back(column == kAlways || values[as_index(column)] > 0.5);
    }
    return result;
  };
  std::vector<UnitPlacement> result;
  for (std::size_t i = 0; i < fast_of.size(); ++i) result.push_back({chosen(fast_of[i]), chosen(kept_of[i])});
  return result;
}

}  // namespace sluice::planners
