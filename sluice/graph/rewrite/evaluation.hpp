// The forward ops of a training graph as they run on a trained model.
#pragma once

#include "sluice/graph/graph.hpp"

namespace sluice::graph {

// Batch norms use their running statistics, which are then only read; dropout is gone. Everything else and all names
// stay. Probabilities of images' classes become a step output (Role::kOutput) beside their loss, which stays the first
// output. Probabilities of tokens do not: they have a whole vocabulary per token, would fill the smaller budgets, and
// say no more than the loss.
Graph build_evaluation_graph(const Graph& forward);

}  // namespace sluice::graph
