#include "sluice/planners/planner.hpp"

#include "sluice/program/program.hpp"
#include "sluice/sim/plan_costs.hpp"
#include "sluice/sim/simulator.hpp"

namespace sluice::planners {

Seconds simulated_seconds(const PlanRequest& request, const plan::Plan& plan) {
  const program::Program program = program::lower_plan(request.graph, request.machine, plan).value();
  const sim::PlanCosts costs(request.graph, request.profile, request.machine, plan);
  return sim::simulate(program, costs.costs()).step_seconds;
}

}  // namespace sluice::planners
