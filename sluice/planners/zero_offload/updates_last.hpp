// Schedules updates behind the passes, for a processor of their own.
#pragma once

#include <vector>

#include "sluice/graph/graph.hpp"

namespace sluice::planners {

// The ops of the passes as `order` has them, then those of updates (Phase::kUpdate), by when what they need of the
// passes is there: so that none that could run keeps the host waiting behind one that cannot. Updates that touch the same
// tensor stay in order. What copies a rank's part of a parameter, for whoever updates it, stays in the passes. In a step of
// several batches (rewrite/accumulate_gradients.hpp) each batch's gradients are added up behind its own passes. Cost:
// linear in operands, and a sort.
std::vector<graph::OpIndex> updates_last(const graph::Graph& graph, std::vector<graph::OpIndex> order);

}  // namespace sluice::planners
