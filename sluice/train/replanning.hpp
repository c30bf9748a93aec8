// Plans again while training runs, when the machine has drifted from the figures that the plan was made with.
//
// Steps are observed; when ops, or the transfers of a link, take longer or shorter than predicted by more than a
// threshold (sim/drift.hpp), a plan is sought for what the machine does now. A thread of low priority does that beside
// the training, with the memory that a planner takes, which is beyond the budget. The new plan is taken before the step
// that begins after it is there, if the simulator says by the new figures that it is clearly faster than the plan that
// runs (kWorthMoreTraffic), and that the rest of the run will gain more than the change takes. From then on drift is
// counted from the new figures. Loss and parameters have the same bits.
//
// Nothing is sought where the plan that runs hardly waits by the new figures. Plans that move nothing are not watched;
// nor are those of policies. One caller at a time. When a plan cannot be made
// or started, the run goes on with the one it has, and Replan::failure says why.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "sluice/sim/drift.hpp"
#include "sluice/train/planning.hpp"
#include "sluice/train/session.hpp"

namespace sluice {

inline constexpr double kUsualDrift = 0.25;  // that a plan is sought for
inline constexpr int kObservedSteps = 8;     // whose medians tell the drift
inline constexpr int kSettlingSteps = 2;     // of another plan, not observed: new pages, new kernels
// A plan is sought only while the run will go on for so long: seeking takes seconds of a part of a core.
inline constexpr Seconds kWorthReplanning = 20;
// What a change of plan takes, until one was made: parameters are written and read, arenas reserved.
inline constexpr Seconds kUsualChange = 5;

// One time that a plan was sought anew.
struct Replan {
  std::int64_t step = 0;  // after which the drift was told
  Drift drift;            // since the figures before
  Seconds planning_seconds = 0;
  Seconds change_seconds = 0;   // 0: the plan stayed
  Seconds present_seconds = 0;  // predicted of the plan that ran, by the new figures
  Seconds new_seconds = 0;      // of the plan sought
  bool taken = false;
  std::string failure;  // empty: none
};

struct ReplanningOptions {
  std::string planner;
  double beyond = kUsualDrift;
  std::int64_t end_step = 0;  // of the run
  Seconds least_seconds_left = kWorthReplanning;
  Seconds change_seconds = kUsualChange;
  std::function<void(const Replan& replan)> on_drift = {};  // may be empty: a plan is sought now
  std::function<void(const Replan& replan)> on_plan = {};   // may be empty: that is over
};

// What the plan that a session begins with was made with.
struct Figures {
  Machine machine;
  Profile profile;
};

class Replanning : public Training {
 public:
  // `session`, `workload` (the session's) and `accesses` (may be nullptr) must outlive this object.
  Replanning(Session& session, const Workload& workload, Figures figures, const AccessProfile* accesses,
             ReplanningOptions options);
  ~Replanning() override;  // a search under way is stopped
  Replanning(const Replanning&) = delete;
  Replanning& operator=(const Replanning&) = delete;

  // StepOutcome::variant says "planning" of steps beside which a plan is sought.
  Result<StepOutcome> run_step(std::int64_t step, double learning_rate) override;
  Result<ValidationResult> validate(std::int64_t batches) override;
  Status save_checkpoint(const std::filesystem::path& path, std::int64_t next_step) override;

  bool watches() const;  // whether the session's plan is one to watch
  const std::vector<Replan>& replans() const { return replans_; }

 private:
  struct Sought {
    Result<Plan> plan;
    Seconds seconds;
  };

  void observe(StepTimes times, std::int64_t step);
  StepTimes predicted() const;  // the present plan, by figures_
  void seek_plan();
  Status take_sought(std::int64_t step);
  bool worth_taking(const Replan& replan, std::int64_t step) const;
  Status start(const Plan& plan);
  void begin_to_observe();

  Session& session_;
  const Workload& workload_;
  Figures figures_;
  const AccessProfile* accesses_;
  ReplanningOptions options_;
  int unobserved_ = kSettlingSteps;
  std::vector<StepTimes> observed_;
  std::vector<Replan> replans_;
  std::atomic<bool> stop_ = false;
  std::future<Sought> sought_;  // valid: a plan is sought
};

}  // namespace sluice
