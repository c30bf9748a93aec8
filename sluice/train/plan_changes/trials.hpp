// Trials: training that decides between plans by running steps with them, as Sentinel's test and trial does for tensors
// that arrive too late (§IV-D, case 3), and ReDL's search for the period (§III-D). A planner's search
// (planners/plan_search.hpp) proposes plans; it is told how long an observed step took with each.
//
// In Sentinel there are at most two trial steps for each occasion. In addition, every change of plan costs one step that
// is run but not observed (kWarmupSteps says why), and the time to write and read the parameters, which is part of no
// step's time. All three are counted separately.
//
// At the end the search decides: the best plan observed is kept. If a plan cannot be started, the trials end with the
// best plan before it. A run that ends in between loses nothing: its checkpoint does not depend on the plan, and kept()
// is the best so far. A proposal that breaks a rule is our bug: std::logic_error.
#pragma once

#include <memory>

#include "sluice/train/plan_changes/watched_training.hpp"
#include "sluice/train/policy_run.hpp"

namespace sluice::train {

// How many steps are not observed after the session has begun to obey another plan. The first step touches the pages of
// new arenas: some hundred page faults, which take 5 to 10 % of a step's processor time (ResNet-20 and ResNet-50 on an
// emulated tier). The first step of a process makes kernels too and takes half as long again. The second step has no
// such faults and takes as long as those after it.
inline constexpr int kWarmupSteps = 1;

// How a run begins: with a plan or a policy and, where plans are to be tried, with the search that proposes further ones. The
// search refers to `asked`, and `asked` refers to the workload's graph, the profile and the machine.
struct PlannedStart {
  policies::Run run;
  std::unique_ptr<BudgetedRequest> asked;  // both nullptr: there is nothing to try
  std::unique_ptr<planners::PlanSearch> search;
};

class PlanTrials : public WatchedTraining {
 public:
  // The session begins with the search's first plan. `start` has something to try.
  PlanTrials(Session& session, PlannedStart start, WatchOptions options);

  bool over() const { return stage_ == Stage::kSettled; }
  policies::Run kept() const override { return record().plans[record().kept].plan; }

 private:
  enum class Stage {
    kTrying,    // steps are observed
    kSettling,  // no more trials: the plan to keep is to be started before the next step
    kSettled,
  };

  std::optional<plan::Plan> wanted_plan(std::int64_t step) override;
  void note_change(const plan::Plan& plan, bool taken) override;
  std::size_t steps_to_observe() const override { return stage_ == Stage::kTrying ? 1 : 0; }
  void observe(std::int64_t step, const std::vector<program::StepTimes>& steps) override;
  std::string_view step_name(bool settling) const override;
  void note_outcome();
  const plan::Plan& plan_to_keep() const;              // as far as is known
  std::size_t index_of(const plan::Plan& plan) const;  // in the record's plans; their number where it has not been run

  std::unique_ptr<BudgetedRequest> asked_;
  std::unique_ptr<planners::PlanSearch> search_;
  WatchOptions options_;
  Stage stage_ = Stage::kTrying;
};

}  // namespace sluice::train
