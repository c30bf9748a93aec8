#include "sluice/experiment/step_prediction.hpp"

#include "sluice/policies/policy_settings.hpp"
#include "sluice/sim/plan_costs.hpp"
#include "sluice/sim/simulator.hpp"

namespace sluice {

Result<StepPrediction> predict_step(const Graph& graph, const Machine& machine, const Profile& profile,
                                    const Plan& plan, const Program& program) {
  const PlanCosts costs(graph, profile, machine, plan);
  if (!plan.policy) {
    StepTimes timeline = simulate(program, costs.costs());
    Locality locality = measure_locality(costs.graph(), program, timeline);
    const TimeBreakdown parts = break_down(program, ops_run_again(plan), timeline);
    return StepPrediction{std::move(timeline), std::move(locality), parts, std::nullopt, std::nullopt};
  }
  if (is_dtr(*plan.policy)) {
    SLUICE_ASSIGN(const DtrTimeline timeline,
                  simulate_dtr(costs.graph(), costs.costs(), machine, plan.policy->fast_bytes));
    const StepTimes& times = timeline.times;
    return StepPrediction{times, measure_locality(costs.graph(), program, times),
                          break_down(timeline.step, times.step_seconds), std::nullopt, timeline.step};
  }
  SLUICE_ASSIGN(PolicyTimeline policy, predict_policy(*plan.policy, graph, costs.costs(), machine));
  return StepPrediction{last_step(policy, machine), last_locality(policy), std::nullopt, std::move(policy),
                        std::nullopt};
}

}  // namespace sluice
