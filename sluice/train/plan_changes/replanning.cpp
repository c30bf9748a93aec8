#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>

#include "sluice/base/as_result.hpp"
#include "sluice/base/time_of.hpp"
#include "sluice/train/plan_changes/watched_training.hpp"

namespace sluice::train {
namespace {

constexpr int kNiceness = 10;  // a tenth of what a compute thread gets of a core that both want

// Of the calling thread alone.
void lower_priority() { ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNiceness); }

// What a change of plan takes at most: arenas are reserved, and parameters and the optimizer's state written and read.
Seconds usual_change_seconds(const graph::Graph& graph) {
  constexpr Seconds kArenas = 1;
  constexpr BytesPerSecond kDisk = 500e6;
  Bytes bytes = 0;
  for (const graph::TensorId id : persistent_tensors(graph)) bytes += graph.tensor(id).bytes;
  return kArenas + 2 * static_cast<double>(bytes) / kDisk;
}

class Replanning : public WatchedTraining {
 public:
  Replanning(Session& session, const Workload& workload, Figures figures, const profile::AccessProfile* accesses,
             WatchOptions options)
      : WatchedTraining(session, PlanRule::kReplanning, kSettlingSteps, std::move(options)),
        workload_(workload),
        figures_(std::move(figures)),
        accesses_(accesses),
        change_seconds_(this->options().change_seconds.value_or(usual_change_seconds(workload.graph()))) {
    SLUICE_CHECK(!figures_.estimated || this->options().cache != nullptr, "a cache for what steps measure");
  }

  // A search under way is stopped.
  ~Replanning() override {
    stop_ = true;
    if (sought_.valid()) sought_.wait();
  }
  Replanning(const Replanning&) = delete;
  Replanning& operator=(const Replanning&) = delete;

  const Figures* present_figures() const override { return &figures_; }

 private:
  struct Sought {
    Result<plan::Plan> plan;
    Seconds seconds;
  };

  std::string_view step_name(bool /*settling*/) const override { return sought_.valid() ? "planning" : ""; }

  // Of a plan that moves nothing the drift does not matter.
  std::size_t steps_to_observe() const override {
    if (sought_.valid()) return 0;
    if (figures_.estimated) return kMeasuringSteps;
    return session().program().transfers.empty() ? 0 : kObservedSteps;
  }

  std::optional<plan::Plan> wanted_plan(std::int64_t step) override {
    if (!sought_.valid() || sought_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return std::nullopt;
    Sought sought = sought_.get();
    PlanChange& change = noted().changes.back();
    change.planning_seconds = sought.seconds;
    if (sought.plan.ok()) {
      change.new_seconds = sought.plan->predicted_step_seconds;
      if (worth_taking(change, step)) return std::move(sought.plan).value();
    } else {
      change.failure = sought.plan.error().message;
    }
    change.outcome = PlanChange::Outcome::kLeft;
    tell();
    return std::nullopt;
  }

  void note_change(const plan::Plan& /*plan*/, bool /*taken*/) override {
    change_seconds_ = record().changes.back().change_seconds;
    tell();
  }

  void observe(std::int64_t step, const std::vector<program::StepTimes>& steps) override {
    const bool estimated = figures_.estimated;
    const sim::PlannedStep step_before = present();
    const program::StepTimes before = step_before.simulated();
    const sim::Drift drift = sim::measure_drift(session().program(), before, steps);
    const Seconds left = static_cast<double>(options().end_step - step - 1) * steps.back().step_seconds;
    const bool for_long = left >= options().least_seconds_left;
    if (estimated) {
      figures_ = figures_from_steps(workload_, step_before, figures_, before, steps, *options().cache);
    } else if (for_long && drift.largest() > 1 + options().beyond) {
      figures_ = {sim::drifted(std::move(figures_.machine), drift), sim::drifted(std::move(figures_.profile), drift)};
    } else {
      return;
    }
    if (!for_long) return;
    const program::StepTimes now = present().simulated();
    if (!worth_seeking(now, estimated)) return;
    noted().changes.push_back(
        {.step = step, .estimated = estimated, .drift = drift, .present_seconds = now.step_seconds});
    tell();
    seek_plan();
  }

  // By the present figures.
  sim::PlannedStep present() const { return {session().lowered(), figures_.profile, figures_.machine}; }

  // A plan made in haste may lose time in other ways than by waiting.
  bool worth_seeking(const program::StepTimes& present, bool instead_of_estimates) const {
    if (!instead_of_estimates) return present.stall_seconds > (1 - planners::kWorthMoreTraffic) * present.step_seconds;
    const Seconds all_fast = predicted_baseline_seconds(workload_, figures_.machine, figures_.profile);
    return !session().program().transfers.empty() && all_fast < planners::kWorthMoreTraffic * present.step_seconds;
  }

  // Nothing that the thread reads is written while it runs: the figures stay until its plan was taken.
  void seek_plan() {
    const FastBudget fast{MemorySize{session().plan().budgets[memory::kFastTier]}};
    const auto watch = std::make_shared<const planners::PlanningWatch>(
        planners::PlanningWatch{.progress = {}, .stop = [this] { return stop_.load(); }});
    sought_ = std::async(std::launch::async, [this, fast, watch] {
      lower_priority();
      std::optional<Result<plan::Plan>> plan;
      const Seconds seconds = time_of([&] {
        plan = as_result([&] {
          return plan_workload(workload_, figures_.machine, figures_.profile, options().planner, fast, accesses_,
                               watch);
        });
      });
      return Sought{*std::move(plan), seconds};
    });
  }

  bool worth_taking(const PlanChange& change, std::int64_t step) const {
    const Seconds gain = static_cast<double>(options().end_step - step) * (change.present_seconds - change.new_seconds);
    return change.new_seconds <= planners::kWorthMoreTraffic * change.present_seconds && gain > change_seconds_;
  }

  const Workload& workload_;
  Figures figures_;
  const profile::AccessProfile* accesses_;
  Seconds change_seconds_;  // what a change takes at most, as far as is known
  std::atomic<bool> stop_ = false;
  std::future<Sought> sought_;  // valid: a plan is sought
};

}  // namespace

std::unique_ptr<WatchedTraining> plan_anew(Session& session, const Workload& workload, Figures figures,
                                           const profile::AccessProfile* accesses, WatchOptions options) {
  return std::make_unique<Replanning>(session, workload, std::move(figures), accesses, std::move(options));
}

}  // namespace sluice::train
