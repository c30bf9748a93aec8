#include "sluice/experiment/step_prediction.hpp"

#include "sluice/memory/processors.hpp"

namespace sluice::experiment {

namespace {

struct Prediction {
  const sim::PlannedStep& step;
  const memory::Machine& machine;

  Result<StepPrediction> operator()(const plan::Plan& plan) const {
    program::StepTimes timeline = step.simulated();
    sim::Locality locality = sim::measure_locality(step.graph(), step.program(), timeline);
    const sim::TimeBreakdown parts = sim::break_down(step.program(), sim::ops_run_again(plan), timeline);
    return StepPrediction{std::move(timeline), std::move(locality), parts, std::nullopt, std::nullopt};
  }

  Result<StepPrediction> operator()(const policies::PagesRun& run) const {
    SLUICE_ASSIGN(sim::PolicyTimeline policy, sim::predict_policy(run.policy, step.graph(), step.costs(), machine));
    return StepPrediction{sim::last_step(policy), sim::last_locality(policy), std::nullopt, std::move(policy),
                          std::nullopt};
  }

  Result<StepPrediction> operator()(const policies::DtrRun& run) const {
    SLUICE_ASSIGN(const sim::DtrTimeline timeline,
                  sim::simulate_dtr(step.graph(), step.costs(), machine, run.policy.fast_bytes));
    const program::StepTimes& times = timeline.times;
    return StepPrediction{times, sim::measure_locality(step.graph(), step.program(), times),
                          sim::break_down(timeline.step, times.step_seconds), std::nullopt, timeline.step};
  }
};

}  // namespace

MovedBytes moved_bytes(const memory::Machine& machine, const std::vector<Bytes>& links,
                       const std::vector<Bytes>& raw_links) {
  MovedBytes moved;
  for (std::size_t link = 0; link < machine.links.size(); ++link) {
    const memory::Link& each = machine.links[link];
    if (memory::joins_slow_tiers(each)) continue;
    const bool inward = each.to == memory::kFastTier;
    (inward ? moved.in : moved.out) += links.at(link);
    (inward ? moved.raw_in : moved.raw_out) += raw_links.at(link);
  }
  return moved;
}

MovedBytes StepPrediction::moved(const memory::Machine& machine) const {
  if (!policy) return moved_bytes(machine, timeline.link_bytes, timeline.raw_link_bytes);
  const sim::PolicyStep step = policy->steady();
  return {step.bytes_in(), step.bytes_out(), step.bytes_in(), step.bytes_out()};
}

Result<StepPrediction> predict_step(const sim::PlannedStep& step, const policies::Run& run,
                                    const memory::Machine& machine) {
  return std::visit(Prediction{step, machine}, run);
}

}  // namespace sluice::experiment
