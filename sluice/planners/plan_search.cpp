#include "sluice/planners/plan_search.hpp"

#include "sluice/sim/planned_step.hpp"

namespace sluice::planners {

plan::Plan settle_in_simulation(PlanSearch& search, const PlanRequest& request) {
  while (!search.done()) {
    program::StepTimes timeline =
        sim::PlannedStep::make(request.graph, request.profile, request.machine, search.plan()).value().simulated();
    search.observe({.seconds = timeline.step_seconds, .stalls = std::move(timeline.stalls)});
  }
  return search.plan();
}

}  // namespace sluice::planners
