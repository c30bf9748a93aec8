#include "sluice/experiment/step_prediction.hpp"

#include "sluice/sim/simulator.hpp"

namespace sluice {

Result<StepPrediction> predict_step(const Graph& graph, const Machine& machine, const Profile& profile,
                                    const Plan& plan, const Program& program) {
  const CostModel costs(graph, profile, machine);
  if (!plan.policy) {
    StepTimes timeline = simulate(program, costs);
    Locality locality = measure_locality(graph, program, timeline);
    return StepPrediction{std::move(timeline), std::move(locality), std::nullopt};
  }
  SLUICE_ASSIGN(PolicyTimeline policy, predict_policy(*plan.policy, graph, costs, machine));
  return StepPrediction{last_step(policy, machine), last_locality(policy), std::move(policy)};
}

}  // namespace sluice
