#include "sluice/planners/planner.hpp"

#include "sluice/program/program.hpp"
#include "sluice/sim/plan_costs.hpp"
#include "sluice/sim/simulator.hpp"

namespace sluice {

Seconds simulated_seconds(const PlanRequest& request, const Plan& plan) {
  const Program program = lower_plan(request.graph, request.machine, plan).value();
  const PlanCosts costs(request.graph, request.profile, request.machine, plan);
  return simulate(program, costs.costs()).step_seconds;
}

}  // namespace sluice
