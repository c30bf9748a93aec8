// Rematerialization that pays in nearly every plan: activations made again in the backward pass instead of kept. Where
// everything fits it costs some per cent (docs/training.md). Internal to autodiff, which runs it last; autodiff.hpp
// says which activations.
//
// Chains: attention's core is most of what a transformer keeps at long sequences and little of its arithmetic (selective
// activation recomputation, Korthikanti 2022, section 5); a residual network's block outputs are sums of what is kept. A
// chain is cut after kLongestChain results, of which the next one is kept: made again all at once, from the first block
// on, they would take at the end of the chain what keeping them does.
#pragma once

#include "sluice/graph/autodiff/autodiff.hpp"
#include "sluice/graph/graph.hpp"

namespace sluice::graph {

// Inserts each op that makes an activation again directly before the first backward op that reads it, in that op's
// layer; all backward readers get the new tensor ("<name>.again").
void rematerialize_activations(Graph& training, Rematerialize what);

}  // namespace sluice::graph
