#include "sluice/train/plan_changes/trials.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"

namespace sluice::train {
namespace {

// Whether an executor would do the same for both.
bool run_alike(const plan::Plan& a, const plan::Plan& b) {
  return a.budgets == b.budgets && a.ops == b.ops && a.residencies == b.residencies && a.blocks == b.blocks &&
         a.migrations == b.migrations && a.schedule == b.schedule;
}

}  // namespace

PlanTrials::PlanTrials(Session& session, PlannedStart start, WatchOptions options)
    : WatchedTraining(session, PlanRule::kTrials, kWarmupSteps, options.on_change),
      asked_(std::move(start.asked)),
      search_(std::move(start.search)),
      options_(std::move(options)) {
  noted().profiling_steps = asked_->request.accesses != nullptr ? 1 : 0;
  noted().plans.push_back({session.plan(), {}});
  note_outcome();
}

std::string_view PlanTrials::step_name(bool settling) const {
  if (stage_ != Stage::kTrying) return {};
  return settling ? "warm-up" : "trial";
}

std::optional<plan::Plan> PlanTrials::wanted_plan(std::int64_t step) {
  if (stage_ == Stage::kSettled) return std::nullopt;
  const plan::Plan& proposal = stage_ == Stage::kTrying ? search_->plan() : plan_to_keep();
  if (stage_ == Stage::kSettling) {
    stage_ = Stage::kSettled;
    noted().kept = noted().running;
  }
  if (run_alike(proposal, session().plan())) return std::nullopt;
  noted().changes.push_back({.step = step - 1});
  return finish_proposal(options_.planner, *asked_, proposal);
}

void PlanTrials::note_change(const plan::Plan& plan, bool taken) {
  if (!taken) {
    if (stage_ == Stage::kTrying) stage_ = Stage::kSettling;
    return;
  }
  noted().running = index_of(plan);
  if (noted().running == noted().plans.size()) noted().plans.push_back({plan, {}});
  if (stage_ == Stage::kSettled) noted().kept = noted().running;
  tell();
}

const plan::Plan& PlanTrials::plan_to_keep() const { return search_->done() ? search_->plan() : search_->best(); }

void PlanTrials::observe(std::int64_t /*step*/, const std::vector<program::StepTimes>& steps) {
  const program::StepTimes& trace = steps.back();
  search_->observe({.seconds = trace.step_seconds, .stalls = trace.stalls});
  ++noted().trial_steps;
  noted().plans[noted().running].steps.push_back(trace.step_seconds);
  note_outcome();
}

void PlanTrials::note_outcome() {
  noted().search = search_->report();
  noted().complete = search_->done();
  const bool spent = options_.most_trials && noted().trial_steps >= *options_.most_trials;
  if (noted().complete || spent) stage_ = Stage::kSettling;
  if (const std::size_t best = index_of(plan_to_keep()); best < noted().plans.size()) noted().kept = best;
}

std::size_t PlanTrials::index_of(const plan::Plan& plan) const {
  const auto& plans = record().plans;
  const auto known = std::ranges::find_if(plans, [&](const TriedPlan& tried) { return run_alike(tried.plan, plan); });
  return as_index(known - plans.begin());
}

}  // namespace sluice::train
