#include "sluice/planners/plan_search.hpp"

#include "sluice/sim/plan_costs.hpp"

namespace sluice {

Plan settle_in_simulation(PlanSearch& search, const PlanRequest& request) {
  while (!search.done()) {
    const PlanCosts costs(request.graph, request.profile, request.machine, search.plan());
    const Program program = lower_plan(request.graph, request.machine, search.plan()).value();
    StepTimes timeline = simulate(program, costs.costs());
    search.observe({.seconds = timeline.step_seconds, .stalls = std::move(timeline.stalls)});
  }
  return search.plan();
}

}  // namespace sluice
