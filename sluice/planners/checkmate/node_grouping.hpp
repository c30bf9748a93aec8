// From the ops of a step to Checkmate's nodes: runs of neighbouring ops that are run again together or not at all.
//
// First only what cannot be separated is one node: forward ops from the one that makes a tensor to the last one that
// writes into it (results in place, dense layers in slices). Everything else is a node of its own, as in the paper.
// The program grows with the square of the nodes, so of steps with more than `most_nodes` neighbours are then put
// together, which is ours: forward ops with forward ops, those that may repeat with others that may; and of the rest of the step, which
// then runs once, what follows one another. Always the two that are smallest together, by their share of the step's
// time and of the bytes that are made.
//
// A node runs once where one of its ops may not run again (op_traits.hpp), where it makes something that outlives the
// step, or writes into what another node has made. It runs again no later than the first node that overwrites what it
// reads or makes: an update of its weights, a gradient in the place of its result.
//
// Cost: the square of the ops where neighbours are put together, else linear in the operands.
#pragma once

#include "sluice/base/interval.hpp"
#include "sluice/planners/checkmate/remat_problem.hpp"
#include "sluice/planners/planner.hpp"

namespace sluice::planners {

struct GroupedStep {
  RematProblem problem;                            // capacity: the fast budget
  IdVector<int, Interval<graph::OpIndex>> ops_of;  // by node
  // The ops in the order in which these runs run them.
  std::vector<graph::OpIndex> schedule(const RematRuns& runs) const;
};

GroupedStep group_into_nodes(const PlanRequest& request, int most_nodes);

}  // namespace sluice::planners
