// Which gaps are to stay in the fast tier, the clearest first: the part of a plan that list_schedule.hpp leaves open.
#pragma once

#include <span>
#include <vector>

#include "sluice/plan/verify/payments.hpp"
#include "sluice/planners/schedule/gaps.hpp"
#include "sluice/profile/cost_model.hpp"

namespace sluice::planners {

using GapOrder = std::vector<std::size_t>;  // indices into the gaps

// By prices: a gap stays where its rent is at most `most` times what going and coming back costs.
GapOrder order_by_price(std::span<const Gap> gaps, std::span<const MovingUnit> units, const profile::CostModel& costs,
                        const plan::Payments& payments, graph::OpIndex op_count, double most);

// Without prices: all, by their seconds for each copy that staying saves.
GapOrder order_by_length(std::span<const Gap> gaps, std::span<const MovingUnit> units, const profile::CostModel& costs,
                         graph::OpIndex op_count);

}  // namespace sluice::planners
