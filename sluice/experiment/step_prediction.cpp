#include "sluice/experiment/step_prediction.hpp"

#include "sluice/policies/policy_settings.hpp"
#include "sluice/sim/plan_costs.hpp"
#include "sluice/sim/simulator.hpp"

namespace sluice::experiment {

Result<StepPrediction> predict_step(const graph::Graph& graph, const memory::Machine& machine,
                                    const profile::Profile& profile, const plan::Plan& plan,
                                    const program::Program& program) {
  const sim::PlanCosts costs(graph, profile, machine, plan);
  if (!plan.policy) {
    program::StepTimes timeline = sim::simulate(program, costs.costs());
    sim::Locality locality = sim::measure_locality(costs.graph(), program, timeline);
    const sim::TimeBreakdown parts = sim::break_down(program, sim::ops_run_again(plan), timeline);
    return StepPrediction{std::move(timeline), std::move(locality), parts, std::nullopt, std::nullopt};
  }
  if (policies::is_dtr(*plan.policy)) {
    SLUICE_ASSIGN(const sim::DtrTimeline timeline,
                  sim::simulate_dtr(costs.graph(), costs.costs(), machine, plan.policy->fast_bytes));
    const program::StepTimes& times = timeline.times;
    return StepPrediction{times, sim::measure_locality(costs.graph(), program, times),
                          sim::break_down(timeline.step, times.step_seconds), std::nullopt, timeline.step};
  }
  SLUICE_ASSIGN(sim::PolicyTimeline policy, sim::predict_policy(*plan.policy, graph, costs.costs(), machine));
  return StepPrediction{sim::last_step(policy, machine), sim::last_locality(policy), std::nullopt, std::move(policy),
                        std::nullopt};
}

}  // namespace sluice::experiment
