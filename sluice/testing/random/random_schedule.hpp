// Random schedules of a graph that leave every value as it is: ops in another order, some of them again and again,
// others left out because they only make again what another has made.
#pragma once

#include <cstdint>
#include <vector>

#include "sluice/graph/graph.hpp"

namespace sluice::testing {

// Every op that makes something of its own at least once. About `repeats` times as many executions as ops; seeded.
std::vector<graph::OpIndex> random_schedule(const graph::Graph& graph, std::uint64_t seed, double repeats = 1.5);

}  // namespace sluice::testing
