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
  RedlStep(graph::Graph step, memory::TierKind slow, Seconds op_seconds = 1e-3, bool farther = false)
      : graph(std::move(step)),
        machine(machine_with(slow, farther)),
        profile{.op_seconds = std::vector<Seconds>(graph.ops().size(), op_seconds)},
        liveness(graph::analyze_liveness(graph)),
        units(planners::find_moving_units(graph, liveness)),
        costs(graph, profile, machine),
        problem{graph, machine, liveness, units, costs, {testing::kSlowOfTests}, {0.0}} {
    for (planners::MovingUnit& unit : units) unit.slow = testing::kSlowOfTests;
    if (farther) problem.slow.push_back(testing::kFartherOfTests);
    for (graph::OpIndex op = 0; op < graph.op_count(); ++op) {
      problem.start.push_back(problem.start.back() + costs.op_seconds(op));
    }
  }

  // The unit that a tensor belongs to.
  std::size_t unit_of(graph::TensorId tensor) const {
    for (std::size_t i = 0; i < units.size(); ++i) {
      if (std::ranges::find(units[i].tensors, tensor) != units[i].tensors.end()) return i;
    }
    return units.size();
  }

  graph::Graph graph;
  memory::Machine machine;
  profile::Profile profile;
  graph::Liveness liveness;
  std::vector<planners::MovingUnit> units;
  profile::CostModel costs;
  planners::RedlProblem problem;
};

}  // namespace sluice::testing
