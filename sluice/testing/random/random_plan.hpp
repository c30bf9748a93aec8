// Random valid plans: every decision that the rules leave free is taken at random.
//
// Each tensor is walked through its uses. Before a use, copies are made in other tiers (wide or without width, early or
// late, sometimes into a room that holds a stale copy), kept without reason, or dropped; the use then happens in a
// random addressable tier that has, or is given, a valid copy. Half of the copies that may be encoded are, and half of
// the arenas stitched, but neither on a GPU. Budgets are exactly what the packing took, so that bytes change hands as
// often as possible. Seeded: equal seeds give equal plans.
#pragma once

#include <cstdint>

#include "sluice/plan/plan.hpp"

namespace sluice::testing {

// One of: DRAM and a file; DRAM and an addressable slow tier; all three, with or without a link between the slow two.
memory::Machine random_machine(std::uint64_t seed);

plan::Plan random_plan(std::uint64_t seed, const graph::Graph& graph, const memory::Machine& machine);

}  // namespace sluice::testing
