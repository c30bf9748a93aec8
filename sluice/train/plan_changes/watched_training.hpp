// Training whose plan may change while it runs: its steps are observed, and a rule decides by what they took which plan
// the next step obeys.
//
//   session --step--> trace --observe()--> the rule --wanted_plan()--> session.change_plan() before the next step
//
//   trials      a planner's search (planners/plan_search.hpp) proposes plans, is told how long an observed step took with
//               each, and at the end says which to keep: Sentinel's test and trial for tensors that arrive too late
//               (§IV-D, case 3; at most two trial steps for each occasion), ReDL's search for the period (§III-D)
//   replanning  a plan is sought anew where the figures that the present one was made with are not those of the machine
//               now: because they were estimates, which the first steps measure (step_figures.hpp), or because ops or
//               the transfers of a link take longer or shorter than predicted (sim/drift.hpp). A thread of low priority
//               seeks it beside the training, with the memory that a planner takes, which is beyond the budget. It is
//               taken if it is predicted to be clearly faster by the new figures (kWorthMoreTraffic), and if the rest of
//               the run gains more than the change takes. Nothing is sought where the present plan hardly waits, or,
//               instead of estimates, is hardly slower than with everything in fast memory
//   none        the plan or policy stays
//
// Whatever is decided, all steps are steps of the training: loss and parameters have the same bits, and a checkpoint does
// not depend on the plan. After a change, and after a validation, the executor is another one: the first steps are run, but
// not observed. When a plan cannot be made or started, the run goes on with the one it has (trials end, with the best plan
// before it), and PlanChange::failure says why. A proposal of a search that breaks a rule is our bug: std::logic_error.
// One caller at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/train/plan_changes/plan_record.hpp"
#include "sluice/train/planning/policy_run.hpp"
#include "sluice/train/session.hpp"
#include "sluice/train/step_figures.hpp"

namespace sluice::train {

// How many steps are not observed after the session has begun to obey another plan. The first step touches the pages of
// new arenas: some hundred page faults, which take 5 to 10 % of a step's processor time (ResNet-20 and ResNet-50 on an
// emulated tier). The first step of a process makes kernels too and takes half as long again. The second step has no
// such faults and takes as long as those after it.
inline constexpr int kWarmupSteps = 1;     // in trials, whose steps are few
inline constexpr int kSettlingSteps = 2;   // where a plan may be sought anew
inline constexpr int kObservedSteps = 8;   // whose medians tell the drift
inline constexpr int kMeasuringSteps = 3;  // whose medians stand for estimates

inline constexpr double kUsualDrift = 0.25;  // that a plan is sought for
// A plan is sought only while the run will go on for so long: seeking takes seconds of a part of a core.
inline constexpr Seconds kWorthReplanning = 20;

// How a run begins: with a plan or a policy and, where plans are to be tried, with the search that proposes further ones. The
// search refers to `asked`, and `asked` refers to the workload's graph, the profile and the machine.
struct PlannedStart {
  policies::Run run;
  std::unique_ptr<BudgetedRequest> asked;  // both nullptr: there is nothing to try
  std::unique_ptr<planners::PlanSearch> search;
};

struct WatchOptions {
  std::string planner;                            // whose search proposes plans, or that plans anew
  std::optional<std::int64_t> most_trials = {};   // steps observed; nothing: as many as the search wants
  bool replans = false;                           // where nothing is tried: whether another plan may take over
  double beyond = kUsualDrift;                    // a plan is sought anew
  std::int64_t end_step = 0;                      // of the run
  Seconds least_seconds_left = kWorthReplanning;  // for a plan to be sought
  // What a change takes at most, until one was made; nothing: as long as parameters and the optimizer's state are written
  // and read at the speed of a modest disk.
  std::optional<Seconds> change_seconds = {};
  profile::ProfileCache* cache = nullptr;  // for estimated figures; outlives the training: gets what is measured
  std::function<void(const PlanRecord& record)> on_change = {};  // may be empty: a plan is sought, is left, runs
};

class WatchedTraining : public Training {
 public:
  explicit WatchedTraining(Session& session) : WatchedTraining(session, PlanRule::kStays, 0, {}) {}

  // StepOutcome::variant says what a step was for, where that was more than training.
  Result<StepOutcome> run_step(std::int64_t step, double learning_rate) final;
  Result<ValidationResult> validate(std::int64_t batches) final;
  Status save_checkpoint(const std::filesystem::path& path, std::int64_t next_step) final;
  std::optional<std::uintmax_t> checkpoint_bytes() const final { return session_.checkpoint_bytes(); }
  bool running() const final { return session_.running(); }

  const PlanRecord& record() const { return record_; }
  virtual policies::Run kept() const { return session_.run(); }  // after trials, and amid them, the best
  virtual const Figures* present_figures() const { return {}; }  // of the machine, where plans are sought anew by them

 protected:
  WatchedTraining(Session& session, PlanRule rule, int settling_steps, WatchOptions options)
      : session_(session), settling_steps_(settling_steps), unobserved_(settling_steps), options_(std::move(options)) {
    record_.rule = rule;
  }

  // The plan that is to run from `step` on, added to the record's changes; nothing: the present one.
  virtual std::optional<plan::Plan> wanted_plan(std::int64_t /*step*/) { return std::nullopt; }
  // What became of that.
  virtual void note_change(const plan::Plan& /*plan*/, bool /*taken*/) {}
  // At once; 0: none for now.
  virtual std::size_t steps_to_observe() const { return 0; }
  // `step`: the last of them.
  virtual void observe(std::int64_t /*step*/, const std::vector<program::StepTimes>& /*steps*/) {}
  // Of the step that has just run.
  virtual std::string_view step_name(bool /*settling*/) const { return {}; }

  Session& session() const { return session_; }
  const WatchOptions& options() const { return options_; }
  PlanRecord& noted() { return record_; }
  void tell() const;  // of the last change

 private:
  Status change_to(const plan::Plan& plan);
  void note_step(std::int64_t step, StepOutcome& outcome);
  void begin_to_observe();

  Session& session_;
  int settling_steps_, unobserved_;
  WatchOptions options_;
  std::vector<program::StepTimes> observed_;
  PlanRecord record_;
};

// The rules. `session`, whose run began with `start`, `workload` (the session's) and `accesses` (may be nullptr) must
// outlive the training; `figures` are those that it was planned with.
std::unique_ptr<WatchedTraining> try_plans(Session& session, PlannedStart start, WatchOptions options);
std::unique_ptr<WatchedTraining> plan_anew(Session& session, const Workload& workload, Figures figures,
                                           const profile::AccessProfile* accesses, WatchOptions options);

// Trials where `start` has something to try, replanning where that is wanted and a plan runs, and else no rule.
std::unique_ptr<WatchedTraining> watch_training(Session& session, const Workload& workload, PlannedStart start,
                                                Figures figures, const profile::AccessProfile* accesses,
                                                WatchOptions options);

}  // namespace sluice::train
