// What memory costs against what it brings: AutoTM (section 6.3, figure 9), for any planner.
//
// As in the paper, only memory that the step uses is paid for: the fast budget of the plan, and what the plan keeps in
// slow tiers. Prices are of a GB, in any currency; one price for all slow tiers.
#pragma once

#include "sluice/base/result.hpp"
#include "sluice/experiment/sweep_result.hpp"

namespace sluice::experiment {

// "fast=16.61,slow=7.85". kBadInput unless both are above 0.
Result<MemoryPrices> parse_memory_prices(const std::string& text);

struct PricedPoint {
  double cost = 0;         // of the memory, over that of fast memory for everything
  double performance = 0;  // fast-only's step over the point's: measured where it was, else predicted

  double per_cost() const { return performance / cost; }  // above 1: worth its price
};

// Nothing where it is unknown what the point takes of slow memory, for policies and where there is no plan; nor where
// prices so far apart, or memory or a step of nothing, leave no finite performance per cost above 0.
std::optional<PricedPoint> price_of(const SweptModel& swept, const SweepPoint& point, const MemoryPrices& prices);

// Of the planner's points that are at most `loss` slower than fast-only, the one whose memory costs least; nullptr where
// there is none.
const SweepPoint* cheapest_within(const SweptModel& swept, std::string_view planner, const MemoryPrices& prices,
                                  double loss);

}  // namespace sluice::experiment
