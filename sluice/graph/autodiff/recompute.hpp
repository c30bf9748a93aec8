// Rematerialization that pays in nearly every plan: activations made again in the backward pass instead of kept. Where
// everything fits it costs some per cent (docs/training.md). Internal to autodiff, which runs it last; autodiff.hpp
// says which activations.
#pragma once

#include "sluice/graph/graph.hpp"

namespace sluice {

// Inserts each op that makes an activation again directly before the first backward op that reads it, in that op's
// layer; all backward readers get the new tensor ("<name>.again").
void recompute_cheap_activations(Graph& training);

}  // namespace sluice
