// Machines of any number of tiers as bounds see them: a fast tier, a slow one, and a link each way between the two.
#pragma once

#include <span>
#include <vector>

#include "sluice/graph/graph.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/plan/prices.hpp"
#include "sluice/profile/cost_model.hpp"

namespace sluice::planners {

// A machine as if it had two tiers, on which every plan of it takes no longer.
struct TwoTiers {
  Bytes fast = 0;
  plan::TwoWayLink link;
  bool in_place = false;  // ops may use the slow one in place
};

// Whether prices prove anything of such a step: ops run on one processor, and every slow tier has links to and from the
// fast one.
bool has_prices(const graph::Graph& graph, const memory::Machine& machine);

// Links between the fast tier and all slow ones as one. That of a single slow tier carries what the simulator lets it;
// of several, all of them at once, for nothing.
plan::TwoWayLink two_way_link(const profile::CostModel& costs, const memory::Machine& machine);

// All slow tiers as one; and where ops can use some of them and not others, those that they can use as fast as the fast
// one, and as large as all of them together. What is proved of any of them holds for the machine.
std::vector<TwoTiers> two_tier_views(const profile::CostModel& costs, const memory::Machine& machine,
                                     std::span<const Bytes> budgets);

}  // namespace sluice::planners
