// A step, a machine and made-up op times, with what ReDL makes of them. For tests.
#pragma once

#include <algorithm>
#include <vector>

#include "sluice/planners/planner.hpp"
#include "sluice/planners/redl/stretches.hpp"
#include "sluice/planners/schedule/step_for_tests.hpp"

namespace sluice::testing {

class RedlStep {
 public:
  // Every op takes `op_seconds`.
  RedlStep(Graph step, TierKind slow, Seconds op_seconds = 1e-3, bool farther = false)
      : graph(std::move(step)),
        machine(machine_with(slow, farther)),
        profile{.op_seconds = std::vector<Seconds>(graph.ops().size(), op_seconds)},
        liveness(analyze_liveness(graph)),
        units(find_moving_units(graph, liveness)),
        costs(graph, profile, machine),
        problem{graph, machine, liveness, units, costs, {kSlowOfTests}, {0.0}} {
    for (MovingUnit& unit : units) unit.slow = kSlowOfTests;
    if (farther) problem.slow.push_back(kFartherOfTests);
    for (OpIndex op = 0; op < graph.op_count(); ++op) {
      problem.start.push_back(problem.start.back() + costs.op_seconds(op));
    }
  }

  // The unit that a tensor belongs to.
  std::size_t unit_of(TensorId tensor) const {
    for (std::size_t i = 0; i < units.size(); ++i) {
      if (std::ranges::find(units[i].tensors, tensor) != units[i].tensors.end()) return i;
    }
    return units.size();
  }

  Graph graph;
  Machine machine;
  Profile profile;
  Liveness liveness;
  std::vector<MovingUnit> units;
  CostModel costs;
  RedlProblem problem;
};

}  // namespace sluice::testing
