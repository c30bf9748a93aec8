// A step as a policy sees it: ranges of addresses, op by op.
//
// An op's distinct operands, inputs first, are one access each; an in-place operand is read and written. Before the
// first step every persistent tensor is written once, in address order: parameters are initialised before training.
#pragma once

#include "sluice/layout/page_layout.hpp"
#include "sluice/policies/policy.hpp"

namespace sluice::policies {

struct StepAccesses {
  std::vector<Access> initial;
  std::vector<std::vector<Access>> ops;  // by OpIndex
  // By OpIndex: at the first op of a layer span, what the next span accesses (the last one is followed by the first);
  // empty elsewhere.
  std::vector<std::vector<Access>> upcoming;
};

// `traffic`: of the graph on the machine in question.
StepAccesses step_accesses(const graph::Graph& graph, const graph::Liveness& liveness, const layout::PageLayout& layout,
                           const profile::OpTraffic& traffic);

// Hints first, then the op's own accesses. `moves`: what Policy::access() adds.
AccessCharge charge_op(Policy& policy, const StepAccesses& step, graph::OpIndex op, Seconds now,
                       memory::MoveList& moves);

}  // namespace sluice::policies
