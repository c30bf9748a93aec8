// How much of what ops read and write lies in the fast tier while they run, by bytes (AutoTM's figure 10b).
#pragma once

#include "sluice/plan/plan.hpp"

namespace sluice::plan {

struct OperandShares {
  double inputs = 1;  // 1 where there are none
  double outputs = 1;
};

// `graph`: that of the plan's schedule and choices (plan_graph.hpp). An operand that is updated in place is both.
OperandShares operand_shares(const graph::Graph& graph, const Plan& plan);

}  // namespace sluice::plan
