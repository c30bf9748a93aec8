#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/train/plan_changes/watched_training.hpp"

namespace sluice::train {
namespace {

// Whether an executor would do the same for both.
bool run_alike(const plan::Plan& a, const plan::Plan& b) {
  return a.budgets == b.budgets && a.ops == b.ops && a.residencies == b.residencies && a.blocks == b.blocks &&
         a.migrations == b.migrations && a.schedule == b.schedule;
}

class PlanTrials : public WatchedTraining {
 public:
  PlanTrials(Session& session, PlannedStart start, WatchOptions options)
      : WatchedTraining(session, PlanRule::kTrials, kWarmupSteps, std::move(options)),
        asked_(std::move(start.asked)),
        search_(std::move(start.search)) {
    noted().profiling_steps = asked_->request.accesses != nullptr ? 1 : 0;
    noted().plans.push_back({session.plan(), {}});
    note_outcome();
  }

  policies::Run kept() const override { return record().plans[record().kept].plan; }

 private:
  enum class Stage {
    kTrying,    // steps are observed
    kSettling,  // no more trials: the plan to keep is to be started before the next step
    kSettled,
  };

  std::size_t steps_to_observe() const override { return stage_ == Stage::kTrying ? 1 : 0; }

  std::string_view step_name(bool settling) const override {
    if (stage_ != Stage::kTrying) return {};
    return settling ? "warm-up" : "trial";
  }

  std::optional<plan::Plan> wanted_plan(std::int64_t step) override {
    if (stage_ == Stage::kSettled) return std::nullopt;
    const plan::Plan& proposal = stage_ == Stage::kTrying ? search_->plan() : plan_to_keep();
    if (stage_ == Stage::kSettling) {
      stage_ = Stage::kSettled;
      noted().kept = record().running;
    }
    if (run_alike(proposal, session().plan())) return std::nullopt;
    noted().changes.push_back({.step = step - 1});
    return finish_proposal(options().planner, *asked_, proposal);
  }

  void note_change(const plan::Plan& plan, bool taken) override {
    if (!taken) {
      if (stage_ == Stage::kTrying) stage_ = Stage::kSettling;
      return;
    }
    noted().running = index_of(plan);
    if (record().running == record().plans.size()) noted().plans.push_back({plan, {}});
    if (stage_ == Stage::kSettled) noted().kept = record().running;
    tell();
  }

  void observe(std::int64_t /*step*/, const std::vector<program::StepTimes>& steps) override {
    search_->observe({.seconds = steps.back().step_seconds, .stalls = steps.back().stalls});
    ++noted().trial_steps;
    noted().plans[record().running].steps.push_back(steps.back().step_seconds);
    note_outcome();
  }

  void note_outcome() {
    noted().search = search_->report();
    noted().complete = search_->done();
    const bool spent = options().most_trials && record().trial_steps >= *options().most_trials;
    if (record().complete || spent) stage_ = Stage::kSettling;
    if (const std::size_t best = index_of(plan_to_keep()); best < record().plans.size()) noted().kept = best;
  }

  // As far as is known.
  const plan::Plan& plan_to_keep() const { return search_->done() ? search_->plan() : search_->best(); }

  // In the record's plans; their number where it has not been run.
  std::size_t index_of(const plan::Plan& plan) const {
    const auto& plans = record().plans;
    return as_index(std::ranges::find_if(plans, [&](const TriedPlan& tried) { return run_alike(tried.plan, plan); }) -
                    plans.begin());
  }

  std::unique_ptr<BudgetedRequest> asked_;
  std::unique_ptr<planners::PlanSearch> search_;
  Stage stage_ = Stage::kTrying;
};

}  // namespace

std::unique_ptr<WatchedTraining> try_plans(Session& session, PlannedStart start, WatchOptions options) {
  return std::make_unique<PlanTrials>(session, std::move(start), std::move(options));
}

}  // namespace sluice::train
