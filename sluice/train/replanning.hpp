// Plans again while training runs, when the figures that the plan was made with are not those of the machine now.
//
// Steps are observed, for one of two reasons:
//
//   estimates   the run began with figures that nobody measured (Figures::estimated), and perhaps with a plan that was
//               sought in haste. Its first steps are the measurement (step_figures.hpp)
//   drift       ops, or the transfers of a link, take longer or shorter than predicted by more than a threshold
//               (sim/drift.hpp)
//
// Then a plan is sought for what the machine does now. A thread of low priority does that beside
// the training, with the memory that a planner takes, which is beyond the budget. The new plan is taken before the step
// that begins after it is there, if the simulator says by the new figures that it is clearly faster than the plan that
// runs (kWorthMoreTraffic), and that the rest of the run will gain more than the change takes. From then on drift is
// counted from the new figures. Loss and parameters have the same bits.
//
// Nothing is sought where the plan that runs hardly waits by the new figures, or, instead of estimates, is hardly slower
// than with everything in fast memory. Plans that move nothing are not watched for drift; those of policies not at all.
// One caller at a time. When a plan cannot be made or started, the run goes on with the one it has, and Replan::failure
// says why.
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
#include "sluice/train/step_figures.hpp"

namespace sluice::train {

inline constexpr double kUsualDrift = 0.25;  // that a plan is sought for
inline constexpr int kObservedSteps = 8;     // whose medians tell the drift
inline constexpr int kMeasuringSteps = 3;    // whose medians stand for estimates
inline constexpr int kSettlingSteps = 2;     // of another plan, not observed: new pages, new kernels
// A plan is sought only while the run will go on for so long: seeking takes seconds of a part of a core.
inline constexpr Seconds kWorthReplanning = 20;
// What a change of plan takes at most, until one was made: arenas are reserved, and parameters and the optimizer's state
// written and read, at the speed of a modest disk.
Seconds usual_change_seconds(const graph::Graph& graph);

// One time that a plan was sought anew.
struct Replan {
  std::int64_t step = 0;   // after which the drift was told
  bool estimated = false;  // the figures before were estimates
  sim::Drift drift;        // since the figures before
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
  std::optional<Seconds> change_seconds = {};  // nothing: usual_change_seconds(), until one was made
  profile::ProfileCache* cache =
      nullptr;  // for estimated figures; outlives this object: what is measured instead is put there
  std::function<void(const Replan& replan)> on_drift = {};  // may be empty: a plan is sought now
  std::function<void(const Replan& replan)> on_plan = {};   // may be empty: that is over
};

class Replanning : public Training {
 public:
  // `session`, `workload` (the session's) and `accesses` (may be nullptr) must outlive this object.
  Replanning(Session& session, const Workload& workload, Figures figures, const profile::AccessProfile* accesses,
             ReplanningOptions options);
  ~Replanning() override;  // a search under way is stopped
  Replanning(const Replanning&) = delete;
  Replanning& operator=(const Replanning&) = delete;

  // StepOutcome::variant says "planning" of steps beside which a plan is sought.
  Result<StepOutcome> run_step(std::int64_t step, double learning_rate) override;
  Result<ValidationResult> validate(std::int64_t batches) override;
  Status save_checkpoint(const std::filesystem::path& path, std::int64_t next_step) override;

  bool watches() const;  // whether the session's plan is one to watch, or its steps are the measurement
  const Figures& figures() const { return figures_; }  // present ones
  const std::vector<Replan>& replans() const { return replans_; }

 private:
  struct Sought {
    Result<plan::Plan> plan;
    Seconds seconds;
  };

  void observe(program::StepTimes times, std::int64_t step);
  bool worth_seeking(const program::StepTimes& present, bool instead_of_estimates) const;
  sim::PlannedStep present() const;  // by figures_
  void seek_plan();
  Status take_sought(std::int64_t step);
  bool worth_taking(const Replan& replan, std::int64_t step) const;
  Status start(const plan::Plan& plan);
  void begin_to_observe();

  Session& session_;
  const Workload& workload_;
  Figures figures_;
  const profile::AccessProfile* accesses_;
  ReplanningOptions options_;
  int unobserved_ = kSettlingSteps;
  std::vector<program::StepTimes> observed_;
  std::vector<Replan> replans_;
  std::atomic<bool> stop_ = false;
  std::future<Sought> sought_;  // valid: a plan is sought
};

}  // namespace sluice::train
