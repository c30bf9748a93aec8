// What a plan that the verifier accepts must stand: it is lowered, every range that an op or a transfer uses is within the
// memory that is reserved, no order of ops and transfers has a race, and run between pages that nobody may touch it leaves
// the bits of the graph's own order.
#pragma once

#include "sluice/memory/machine.hpp"
#include "sluice/plan/plan.hpp"

namespace sluice::tests {

// Throws std::logic_error, or dies by SIGSEGV, where an accepted plan does not. Counts in plan_counts().
void verify_and_run(const graph::Graph& graph, const memory::Machine& machine, const plan::Plan& plan);

}  // namespace sluice::tests
