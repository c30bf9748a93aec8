#include "sluice/planners/plan_search.hpp"

namespace sluice {

Plan settle_in_simulation(PlanSearch& search, const PlanRequest& request) {
  const CostModel costs(request.graph, request.profile, request.machine);
  while (!search.done()) {
    const Program program = lower_plan(request.graph, request.machine, search.plan()).value();
    StepTimes timeline = simulate(program, costs);
    search.observe({.seconds = timeline.step_seconds, .stalls = std::move(timeline.stalls)});
  }
  return search.plan();
}

}  // namespace sluice
