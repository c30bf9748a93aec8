#include "sluice/experiment/step_prediction.hpp"

#include "sluice/sim/plan_costs.hpp"
#include "sluice/sim/simulator.hpp"

namespace sluice {

Result<StepPrediction> predict_step(const Graph& graph, const Machine& machine, const Profile& profile,
                                    const Plan& plan, const Program& program) {
  const PlanCosts costs(graph, profile, machine, plan);
  if (!plan.policy) {
    StepTimes timeline = simulate(program, costs.costs());
    Locality locality = measure_locality(costs.graph(), program, timeline);
    return StepPrediction{std::move(timeline), std::move(locality), std::nullopt};
  }
  SLUICE_ASSIGN(PolicyTimeline policy, predict_policy(*plan.policy, graph, costs.costs(), machine));
  return StepPrediction{last_step(policy, machine), last_locality(policy), std::move(policy)};
}

}  // namespace sluice
