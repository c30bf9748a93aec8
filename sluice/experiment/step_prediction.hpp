// What a step is predicted to take, under a plan or under a policy (policy_run.hpp).
#pragma once

#include "sluice/sim/dtr_simulator.hpp"
#include "sluice/sim/policy_simulator.hpp"
#include "sluice/train/planning.hpp"

namespace sluice::experiment {

struct StepPrediction {
  program::StepTimes timeline;  // of one step
  sim::Locality locality;
  std::optional<sim::TimeBreakdown> parts;    // nothing where a policy decides, but for dtr
  std::optional<sim::PolicyTimeline> policy;  // where one does: all steps; the fields above are of the last
  std::optional<policies::DtrStep> dtr;       // where dtr does

  // Of a step in balance.
  Seconds step_seconds() const { return policy ? policy->steady().step_seconds : timeline.step_seconds; }
};

// `program` is the plan's. Errors: those of predict_policy() and simulate_dtr(); a planner's plan has none.
Result<StepPrediction> predict_step(const graph::Graph& graph, const memory::Machine& machine,
                                    const profile::Profile& profile, const plan::Plan& plan,
                                    const program::Program& program);

}  // namespace sluice::experiment
