// Training whose plan may change while it runs: its steps are observed, and a rule decides by what they took which plan
// the next step obeys.
//
//   session --step--> trace --observe()--> the rule --wanted_plan()--> session.change_plan() before the next step
//
// PlanTrials (trials.hpp) and Replanning (replanning.hpp) are the rules; without one the plan or policy stays. Whatever is
// decided, all steps are steps of the training: loss and parameters have the same bits. After a change of plan, and after
// a validation, the executor is another one: the first steps touch new pages and make new kernels, and are not observed.
// When a plan cannot be started, the run goes on with the one it has, and PlanChange::failure says why. One caller at a
// time.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/train/plan_changes/plan_record.hpp"
#include "sluice/train/session.hpp"
#include "sluice/train/step_figures.hpp"

namespace sluice::train {

inline constexpr double kUsualDrift = 0.25;  // that a plan is sought for
// A plan is sought only while the run will go on for so long: seeking takes seconds of a part of a core.
inline constexpr Seconds kWorthReplanning = 20;

struct WatchOptions {
  std::string planner;                            // whose search proposes plans, or that plans anew
  std::optional<std::int64_t> most_trials = {};   // steps observed; nothing: as many as the search wants
  bool replans = false;                           // where nothing is tried: whether another plan may take over
  double beyond = kUsualDrift;                    // a plan is sought anew
  std::int64_t end_step = 0;                      // of the run
  Seconds least_seconds_left = kWorthReplanning;  // for a plan to be sought
  std::optional<Seconds> change_seconds = {};     // nothing: usual_change_seconds(), until a change was made
  profile::ProfileCache* cache = nullptr;         // for estimated figures; outlives the training: gets what is measured
  std::function<void(const PlanRecord& record)> on_change =
      {};  // may be empty: told when a plan is sought, is left, runs
};

class WatchedTraining : public Training {
 public:
  // `session` must outlive this object.
  explicit WatchedTraining(Session& session) : WatchedTraining(session, PlanRule::kStays, 0, {}) {}

  // StepOutcome::variant says what a step was for, where that was more than training.
  Result<StepOutcome> run_step(std::int64_t step, double learning_rate) final;
  Result<ValidationResult> validate(std::int64_t batches) final;
  Status save_checkpoint(const std::filesystem::path& path, std::int64_t next_step) final;

  const PlanRecord& record() const { return record_; }
  virtual policies::Run kept() const { return session_.run(); }       // what another run had better begin with
  virtual const Figures* present_figures() const { return nullptr; }  // of the machine, where the rule goes by them

 protected:
  WatchedTraining(Session& session, PlanRule rule, int settling_steps,
                  std::function<void(const PlanRecord& record)> on_change)
      : session_(session),
        settling_steps_(settling_steps),
        unobserved_(settling_steps),
        on_change_(std::move(on_change)) {
    record_.rule = rule;
  }

  // The plan that is to run from `step` on, added to the record's changes; nothing: the present one.
  virtual std::optional<plan::Plan> wanted_plan(std::int64_t /*step*/) { return std::nullopt; }
  virtual void note_change(const plan::Plan& /*plan*/, bool /*taken*/) {}  // what became of that
  virtual std::size_t steps_to_observe() const { return 0; }               // at once; 0: none for now
  virtual void observe(std::int64_t /*step*/, const std::vector<program::StepTimes>& /*steps*/) {
  }                                                                           // the last was `step`
  virtual std::string_view step_name(bool /*settling*/) const { return {}; }  // of the step that has just run

  Session& session() const { return session_; }
  PlanRecord& noted() { return record_; }
  void tell() const;  // of the last change

 private:
  Status change_to(const plan::Plan& plan);
  void note_step(std::int64_t step, StepOutcome& outcome);
  void begin_to_observe();

  Session& session_;
  int settling_steps_, unobserved_;
  std::function<void(const PlanRecord& record)> on_change_;
  std::vector<program::StepTimes> observed_;
  PlanRecord record_;
};

}  // namespace sluice::train
