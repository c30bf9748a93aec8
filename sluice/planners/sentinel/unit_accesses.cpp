#include "sluice/planners/sentinel/unit_accesses.hpp"

#include <algorithm>

namespace sluice::planners {

double accesses_within(const ScheduleProblem& problem, std::size_t unit, Interval<graph::OpIndex> ops) {
  double accesses = 0;
  for (const graph::Use& use : problem.units[unit].uses) {
    if (!ops.contains(use.op)) continue;
    if (problem.accesses == nullptr) {
      ++accesses;
      continue;
    }
    for (const profile::TensorTouches& touches : problem.accesses->ops[use.op]) {
      const auto& tensors = problem.units[unit].tensors;
      if (std::find(tensors.begin(), tensors.end(), touches.tensor) == tensors.end()) continue;
      accesses += static_cast<double>((touches.reads + touches.writes) * profile::kPageBytes) /
                  static_cast<double>(problem.units[unit].moved_bytes);
    }
  }
  return accesses;
}

}  // namespace sluice::planners
