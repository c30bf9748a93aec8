#include "sluice/planners/planner.hpp"

#include "sluice/sim/planned_step.hpp"

namespace sluice::planners {

Seconds simulated_seconds(const PlanRequest& request, const plan::Plan& plan) {
  return sim::PlannedStep::make(request.graph, request.profile, request.machine, plan).value().simulated().step_seconds;
}

}  // namespace sluice::planners
