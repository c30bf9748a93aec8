#include "sluice/planners/plan_search.hpp"

#include "sluice/sim/plan_costs.hpp"

namespace sluice::planners {

plan::Plan settle_in_simulation(PlanSearch& search, const PlanRequest& request) {
  while (!search.done()) {
    const sim::PlanCosts costs(request.graph, request.profile, request.machine, search.plan());
    const program::Program program = program::lower_plan(request.graph, request.machine, search.plan()).value();
    program::StepTimes timeline = sim::simulate(program, costs.costs());
    search.observe({.seconds = timeline.step_seconds, .stalls = std::move(timeline.stalls)});
  }
  return search.plan();
}

}  // namespace sluice::planners
