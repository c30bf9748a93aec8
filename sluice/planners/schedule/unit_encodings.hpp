// Which units move encoded: those whose copies then cost less, out and in, by what the profile measured of their bytes,
// of the encoder and of the links (CostModel::worth_encoding). Decided before a search, so that the search sees the
// shorter transfers.
//
// Persistent tensors and blocks move as they are, and so does all where ops can use the slow tier in place.
#pragma once

#include "sluice/planners/schedule/moving_units.hpp"
#include "sluice/planners/schedule/slow_tier.hpp"

namespace sluice::planners {

// Each on the way to its slow tier. How many units there are for which it pays.
int encode_where_worth(const PlanRequest& request, const profile::CostModel& costs, std::vector<MovingUnit>& units);

}  // namespace sluice::planners
