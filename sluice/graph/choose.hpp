// Implementations and processors chosen for the ops of a step: what a plan's choices turn the graph into.
//
// In the graph that comes out every op has the one implementation that was chosen, a workspace of the size that this
// one needs, and its processor. So everyone who works with that graph knows nothing of choices.
//
//   op                 implementations                          workspace   processor
//   conv3 dw           direct: 0 MiB, winograd: 96 MiB             64 B         0
//   with {1, 0}        winograd: 96 MiB                          96 MiB         0
#pragma once

#include <span>

#include "sluice/graph/reschedule.hpp"

namespace sluice::graph {

// Of the workspace of an op that has several implementations, where the one that runs needs none: an operand is not
// empty.
inline constexpr Bytes kLeastWorkspace = 64;

// Whether the choices leave the graph's ops as they are: its own processors, first implementations.
bool is_own_choice(const Graph& graph, std::span<const OpChoice> choices);

// `choices` by slot of `step`. One that names no implementation of its op is a broken invariant: whoever takes choices
// from outside checks them first (plan/verify/verifier.hpp).
void choose(Rescheduled& step, std::span<const OpChoice> choices);

// `graph` in its own order with these choices, one for each op.
Rescheduled chosen_step(const Graph& graph, std::span<const OpChoice> choices);

// By a schedule that names ops of the graph (empty: its own order), with choices by op (empty: those of the graph).
Rescheduled chosen_step(const Graph& graph, std::span<const OpIndex> schedule, std::span<const OpChoice> choices);

}  // namespace sluice::graph
