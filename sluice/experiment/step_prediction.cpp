#include "sluice/experiment/step_prediction.hpp"

#include "sluice/train/policy_run.hpp"

namespace sluice {

Result<StepPrediction> predict_step(const Graph& graph, const Machine& machine, const Profile& profile,
                                    const Plan& plan, const Program& program) {
  const CostModel costs(graph, profile, machine);
  const std::optional<PolicyRun> run = policy_run(plan);
  if (!run) {
    Timeline timeline = simulate(program, costs);
    Locality locality = measure_locality(graph, program, timeline);
    return StepPrediction{std::move(timeline), std::move(locality), std::nullopt};
  }
  SLUICE_ASSIGN(PolicyTimeline policy, predict_policy(run->policy, graph, costs, machine, run->fast_bytes));
  return StepPrediction{last_step(policy, machine), last_locality(policy), std::move(policy)};
}

}  // namespace sluice
