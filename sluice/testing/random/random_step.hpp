// Random choices for the ops of a step, and random plans for what they make of it: other orders, repetitions,
// implementations and processors.
#pragma once

#include <cstdint>
#include <vector>

#include "sluice/graph/choose.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/plan/plan.hpp"

namespace sluice::testing {

// Two or three processors, which may address every tier that ops may.
void add_random_processors(std::uint64_t seed, memory::Machine& machine);

// The graph's ops by `schedule` (empty: in its own order), each on a random one of the machine's processors by a random
// one of its implementations.
graph::Rescheduled random_step(std::uint64_t seed, const graph::Graph& graph, const memory::Machine& machine,
                               const std::vector<graph::OpIndex>& schedule = {});

// A random plan (random_plan.hpp) for this step of `graph`.
plan::Plan random_plan_of_step(std::uint64_t seed, const graph::Graph& graph, const memory::Machine& machine,
                               const graph::Rescheduled& step);

}  // namespace sluice::testing
