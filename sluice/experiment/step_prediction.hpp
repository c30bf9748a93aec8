// What a step is predicted to take, under a plan or under a policy.
#pragma once

#include "sluice/policies/run.hpp"
#include "sluice/sim/dtr_simulator.hpp"
#include "sluice/sim/planned_step.hpp"
#include "sluice/sim/policy_simulator.hpp"
#include "sluice/train/planning/planning.hpp"

namespace sluice::experiment {

// What passes links towards faster tiers, and away from them.
struct MovedBytes {
  Bytes in = 0;
  Bytes out = 0;
  Bytes raw_in = 0;  // if all moved as it is
  Bytes raw_out = 0;
};
// Of bytes by LinkId; between slow tiers is neither.
MovedBytes moved_bytes(const memory::Machine& machine, const std::vector<Bytes>& links,
                       const std::vector<Bytes>& raw_links);

struct StepPrediction {
  program::StepTimes timeline;  // of one step
  sim::Locality locality;
  std::optional<sim::TimeBreakdown> parts;    // nothing where a policy decides, but for dtr
  std::optional<sim::PolicyTimeline> policy;  // where one does: all steps; the fields above are of the last
  std::optional<policies::DtrStep> dtr;       // where dtr does

  // Of a step in balance.
  Seconds step_seconds() const { return policy ? policy->steady().step_seconds : timeline.step_seconds; }
  Seconds stall_seconds() const { return policy ? policy->steady().stall_seconds : timeline.stall_seconds; }
  MovedBytes moved(const memory::Machine& machine) const;
};

// `step` is made of the run's plan. Errors: those of predict_policy() and simulate_dtr(); a planner's plan has none.
Result<StepPrediction> predict_step(const sim::PlannedStep& step, const policies::Run& run,
                                    const memory::Machine& machine);

}  // namespace sluice::experiment
