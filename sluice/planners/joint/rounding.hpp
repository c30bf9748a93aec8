// Whole tensors from prices: which gaps stay in the fast tier, which uses find their tensor in slow memory.
//
// Prices are of a fluid, of which a part stays and a part goes. Rounded, a gap stays where its rent is below what going
// and coming back costs, the clearest first, as long as there is room; and where ops can address slow memory, a unit is
// used there as in its cheapest life (cheapest_lives.hpp). At good prices many lives cost the same, because a fluid does
// some of each. Which is better for whole tensors shows in the list schedule: lives are taken that are cheapest when use
// in place counts more or less than it costs, the fastest of these, and then the choices are tried the other way one
// after the other, the least clear first.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "sluice/plan/plan_builder.hpp"
#include "sluice/planners/joint/cheapest_lives.hpp"
#include "sluice/planners/joint/gap_order.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/schedule/slow_rooms.hpp"

namespace sluice::planners {

inline constexpr double kTighter = 0.8;
inline constexpr double kBetween = 0.9;

struct Rounding {
  std::string_view name;
  // Of the budget, when prices are sought: less leaves room for whole tensors; 0: without prices; kBetween: the mean of
  // the prices of all and of 80 %, which is as good as those of 90 % and costs no linear program.
  double memory = 1;
  Bytes small_bytes = kSmallTensorBytes;  // units below stay
  bool move_short_lived = false;
  bool in_place = false;  // ops may find operands in slow memory
};

// What a plan is laid out from.
struct Draft {
  std::vector<Gap> gaps;
  GapOrder order;  // that may stay
};

// A draft seeks no prices that are not known, and tries fewer choices.
enum class Care { kDraft, kPlan };

class Rounder {
 public:
  // `prices`: of the whole budget, where they are known. `request` must outlive this object.
  Rounder(const PlanRequest& request, std::vector<SlowTier> slow, std::optional<plan::StepPrices> prices);

  bool any_addressable() const { return !usable_.empty(); }
  const profile::CostModel& costs() const { return costs_; }

  // Nothing where there are no prices.
  std::optional<Draft> draft_of(const Rounding& rounding, Care care);

  // By the list schedule alone: when the step ends. Nothing when an op's operands do not fit.
  std::optional<Seconds> estimate(const Draft& draft) const;

  std::optional<plan::PlanBuilder> laid_out(const Draft& draft, const std::vector<Bytes>& capacities) const;

 private:
  Draft unpriced_draft(const Rounding& rounding) const;
  Draft priced_draft(const Rounding& rounding, const plan::StepPrices& prices, Care care) const;
  Draft used_in_place(const plan::Payments& payments, Draft draft, Care care) const;
  const std::optional<plan::StepPrices>& prices_for(double memory);
  std::optional<Seconds> place(const GapOrder& order, Bytes capacity, std::vector<Gap>& gaps) const;
  std::vector<Seconds> op_seconds(const std::vector<Gap>& gaps) const;

  const PlanRequest& request_;
  graph::Liveness liveness_;
  std::vector<MovingUnit> units_;
  profile::CostModel costs_;
  graph::OpIndex op_count_;
  bool encodes_;
  plan::PlanBuilder no_schedule_;                        // what every plan begins as; making one reads the whole graph
  std::set<memory::TierId> usable_;                      // slow tiers that ops can address
  std::vector<std::vector<plan::UseInPlace>> in_place_;  // by tensor and use
  std::map<double, std::optional<plan::StepPrices>> prices_;  // by share of the budget
};

}  // namespace sluice::planners
