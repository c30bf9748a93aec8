// What moves and when in a step whose ops and their order are decided.
//
// 1. Prices. The linear program of the certified bound (planners/bound) says what fast memory is worth while each op
//    runs, and a link in each slot.
// 2. Rounding. A gap between two uses stays in the fast tier where its rent is below what going and coming back costs,
//    the clearest first, as long as there is room. Several ways to round make a plan each. Where the program does not
//    reckon with the machine, short gaps stay.
// 3. List schedule (list_schedule.hpp): the step is run in time, and copies begin when lane and room allow.
// 4. Choice by the simulator.
#pragma once

#include <optional>

#include "sluice/plan/prices.hpp"
#include "sluice/planners/planner.hpp"

namespace sluice {

struct TimedPlan {
  Plan plan;
  Seconds seconds = 0;  // simulated
};

// `prices`: of this step in this budget, where they are known already. A draft (PlanRequest::draft) seeks no others, and
// goes without the exact search for offsets. One that is stopped ends with what it has compared until then. kInfeasible
// where no rounding has a plan.
Result<TimedPlan> plan_moves(const PlanRequest& request, std::optional<StepPrices> prices = std::nullopt);

// The plan that the ones of this are held against: where gaps are few and large, it may be the faster one.
Result<TimedPlan> plan_by_sentinel(const PlanRequest& request);

// A plan, nearly as good as that of plan_moves(), in a tenth of its time: no other prices are sought. Nothing where no
// rounding has a plan.
std::optional<TimedPlan> draft_moves(const PlanRequest& request, const std::optional<StepPrices>& prices);

// The first rounding that has a plan, without prices: what there is after a fraction of a second.
std::optional<TimedPlan> first_moves(const PlanRequest& request);

// What a plan would take if offsets were no matter: milliseconds of work. Nothing where an op's operands do not fit.
std::optional<Seconds> estimate_moves(const PlanRequest& request);

}  // namespace sluice
