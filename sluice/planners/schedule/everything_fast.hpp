// Everything in the fast tier for as long as it lives, and nothing moves.
#pragma once

#include "sluice/plan/plan_builder.hpp"

namespace sluice::planners {

// Of tensors of `graph`, by its order of ops. Both must outlive the builder.
plan::PlanBuilder everything_fast(const graph::Graph& graph, const memory::Machine& machine);

// Arena bytes of the fast-only plan: what "100 %" of a budget means.
Bytes fast_only_bytes(const graph::Graph& graph);

}  // namespace sluice::planners
