// What moves and when in a step whose ops and their order are decided.
//
// 1. Prices. The linear program of the certified bound (planners/bound) says what fast memory is worth while each op
//    runs, and a link in each slot.
// 2. Rounding. A gap between two uses stays in the fast tier where its rent is below what going and coming back costs,
//    the clearest first, as long as there is room; where ops can address slow memory, uses in place are chosen as well
//    (rounding.hpp). Several ways to round make a plan each. Where the program does not reckon with the machine, short
//    gaps stay.
// 3. List schedule (list_schedule.hpp): the step is run in time, and copies begin when lane and room allow.
// 4. Choice by the simulator.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "sluice/plan/prices.hpp"
#include "sluice/planners/planner.hpp"

namespace sluice::planners {

struct TimedPlan {
  plan::Plan plan;
  Seconds seconds = 0;  // simulated
};

class MovesSearch;

// One step's moves, first in little time and then with care, which begins with what there is then. Nothing comes of any
// where no rounding has a plan, and where the machine has no slow tier that a tensor could leave for.
class MovesPlanner {
 public:
  // What `request` refers to must outlive this object. `prices`: of this step in this budget, where they are known.
  MovesPlanner(const PlanRequest& request, std::optional<plan::StepPrices> prices);
  ~MovesPlanner();
  MovesPlanner(const MovesPlanner&) = delete;
  MovesPlanner& operator=(const MovesPlanner&) = delete;

  // What the step would take if offsets were no matter: milliseconds of work. Nothing where an op's operands do not fit.
  std::optional<Seconds> estimate();
  // By the first rounding that has a plan, without prices: what there is after a fraction of a second.
  std::optional<TimedPlan> first();
  // Nearly as good as with care, in a tenth of the time: no other prices are sought, offsets are not searched.
  std::optional<TimedPlan> draft();
  // With care. One that is stopped ends with what it has compared until then.
  std::optional<TimedPlan> plan();

 private:
  std::unique_ptr<MovesSearch> search_;  // nullptr: no slow tier
};

// Another planner's, named as a user would name it: sentinel, autotm-sync, checkmate, home or zero-offload.
Result<TimedPlan> plan_by(std::string_view name, const PlanRequest& request);

// The plan that the ones of this are held against: where gaps are few and large, it may be the faster one.
Result<TimedPlan> plan_by_sentinel(const PlanRequest& request);

// Likewise where ops can use slow memory in place: by AutoTM's integer program, which weighs all placements at once. It
// is the faster one where large operands never fit, and an op's time is not the sum of what each of them costs.
Result<TimedPlan> plan_by_program(const PlanRequest& request);

// Checkmate's: everything in fast memory, some of it made again. For slow memory that holds too little to swap to.
Result<TimedPlan> plan_without_moves(const PlanRequest& request);

// home's: what is kept, moved and made again, chosen together.
Result<TimedPlan> plan_by_swarm(const PlanRequest& request);

}  // namespace sluice::planners
