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
// counted from the new figures.
//
// Nothing is sought where the plan that runs hardly waits by the new figures, or, instead of estimates, is hardly slower
// than with everything in fast memory. Plans that move nothing are not watched for drift; those of policies not at all.
#pragma once

#include <atomic>
#include <future>

#include "sluice/train/plan_changes/watched_training.hpp"
#include "sluice/train/planning.hpp"

namespace sluice::train {

inline constexpr int kObservedSteps = 8;   // whose medians tell the drift
inline constexpr int kMeasuringSteps = 3;  // whose medians stand for estimates
inline constexpr int kSettlingSteps = 2;   // of another plan, not observed

// What a change of plan takes at most, until one was made: arenas are reserved, and parameters and the optimizer's state
// written and read, at the speed of a modest disk.
Seconds usual_change_seconds(const graph::Graph& graph);

class Replanning : public WatchedTraining {
 public:
  // `workload` (the session's) and `accesses` (may be nullptr) must outlive this object.
  Replanning(Session& session, const Workload& workload, Figures figures, const profile::AccessProfile* accesses,
             WatchOptions options);
  ~Replanning() override;  // a search under way is stopped
  Replanning(const Replanning&) = delete;
  Replanning& operator=(const Replanning&) = delete;

  bool watches() const;  // whether the session's plan is one to watch, or its steps are the measurement
  const Figures* present_figures() const override { return &figures_; }

 private:
  struct Sought {
    Result<plan::Plan> plan;
    Seconds seconds;
  };

  std::optional<plan::Plan> wanted_plan(std::int64_t step) override;
  void note_change(const plan::Plan& plan, bool taken) override;
  std::size_t steps_to_observe() const override;
  void observe(std::int64_t step, const std::vector<program::StepTimes>& steps) override;
  std::string_view step_name(bool /*settling*/) const override { return sought_.valid() ? "planning" : ""; }
  bool worth_seeking(const program::StepTimes& present, bool instead_of_estimates) const;
  sim::PlannedStep present() const;  // by figures_
  void seek_plan();
  bool worth_taking(const PlanChange& change, std::int64_t step) const;

  const Workload& workload_;
  Figures figures_;
  const profile::AccessProfile* accesses_;
  WatchOptions options_;
  std::atomic<bool> stop_ = false;
  std::future<Sought> sought_;  // valid: a plan is sought
};

}  // namespace sluice::train
