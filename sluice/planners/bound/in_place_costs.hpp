// What each operand costs an op at least that uses it in place in slow memory, whichever other operands are there too.
//
// By the rule of profile/memory_time.hpp an op's reading adds up over its operands and hides behind the op, and its
// writing adds up: each operand's own share is exact. Where the tier's memory was measured instead (placement.hpp), what
// a set of operands costs need not be a sum. Then an operand counts
//
//   alone x the least of  cost of the set / sum of what its operands cost alone      over the sets that it is in
//
// of which no set has more than it costs. Of several slow tiers that ops can address, the cheapest counts, by reading
// and adding apart.
//
// Cost: O(uses), and 2^operands evaluations for each measured op. One of more than six operands, or with several slow
// tiers, counts nothing where it was measured: that is below the truth, as a bound has to be.
#pragma once

#include <vector>

#include "sluice/graph/liveness.hpp"
#include "sluice/plan/prices.hpp"
#include "sluice/profile/cost_model.hpp"

namespace sluice::planners {

// By tensor and use; empty where ops can use no slow tier in place. Every op runs on the main processor.
std::vector<std::vector<plan::UseInPlace>> in_place_costs(const graph::Graph& graph, const profile::CostModel& costs,
                                                          const memory::Machine& machine);

}  // namespace sluice::planners
