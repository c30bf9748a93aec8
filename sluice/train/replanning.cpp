#include "sluice/train/replanning.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "sluice/base/time_of.hpp"
#include "sluice/sim/plan_costs.hpp"
#include "sluice/sim/simulator.hpp"

namespace sluice {
namespace {

constexpr int kNiceness = 10;  // a tenth of what a compute thread gets of a core that both want

// Of the calling thread alone.
void lower_priority() { ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNiceness); }

}  // namespace

Replanning::Replanning(Session& session, const Workload& workload, Figures figures, const AccessProfile* accesses,
                       ReplanningOptions options)
    : session_(session),
      workload_(workload),
      figures_(std::move(figures)),
      accesses_(accesses),
      options_(std::move(options)) {}

Replanning::~Replanning() {
  stop_ = true;
  if (sought_.valid()) sought_.wait();
}

bool Replanning::watches() const { return !session_.plan().policy && !session_.program().transfers.empty(); }

Result<StepOutcome> Replanning::run_step(std::int64_t step, double learning_rate) {
  SLUICE_RETURN_IF_ERROR(take_sought(step));
  SLUICE_ASSIGN(StepOutcome outcome, session_.run_step(step, learning_rate));
  if (sought_.valid()) {
    outcome.variant = "planning";
  } else if (unobserved_ > 0) {
    --unobserved_;
  } else if (watches()) {
    observe(outcome.trace, step);
  }
  return outcome;
}

// The executor is another one after that.
Result<ValidationResult> Replanning::validate(std::int64_t batches) {
  begin_to_observe();
  return session_.validate(batches);
}

Status Replanning::save_checkpoint(const std::filesystem::path& path, std::int64_t next_step) {
  return session_.save_checkpoint(path, next_step);
}

void Replanning::begin_to_observe() {
  unobserved_ = kSettlingSteps;
  observed_.clear();
}

StepTimes Replanning::predicted() const {
  const PlanCosts costs(workload_.graph(), figures_.profile, figures_.machine, session_.plan());
  return simulate(session_.program(), costs.costs());
}

void Replanning::observe(StepTimes times, std::int64_t step) {
  observed_.push_back(std::move(times));
  if (observed_.size() < kObservedSteps) return;
  const Drift drift = measure_drift(session_.program(), predicted(), observed_);
  const double left = static_cast<double>(options_.end_step - step - 1) * observed_.back().step_seconds;
  observed_.clear();
  if (drift.largest() <= 1 + options_.beyond || left < options_.least_seconds_left) return;
  figures_ = {drifted(std::move(figures_.machine), drift), drifted(std::move(figures_.profile), drift)};
  const StepTimes present = predicted();
  if (present.stall_seconds <= (1 - kWorthMoreTraffic) * present.step_seconds) return;
  replans_.push_back({.step = step, .drift = drift, .present_seconds = present.step_seconds});
  if (options_.on_drift) options_.on_drift(replans_.back());
  seek_plan();
}

// Nothing that the thread reads is written while it runs: the figures stay until its plan was taken.
void Replanning::seek_plan() {
  const FastBudget fast{MemorySize{session_.plan().budgets[kFastTier]}};
  const auto watch =
      std::make_shared<const PlanningWatch>(PlanningWatch{.progress = {}, .stop = [this] { return stop_.load(); }});
  sought_ = std::async(std::launch::async, [this, fast, watch] {
    lower_priority();
    std::optional<Result<Plan>> plan;
    const Seconds seconds = time_of([&] {
      plan = plan_workload(workload_, figures_.machine, figures_.profile, options_.planner, fast, accesses_, watch);
    });
    return Sought{*std::move(plan), seconds};
  });
}

bool Replanning::worth_taking(const Replan& replan, std::int64_t step) const {
  const Seconds gain = static_cast<double>(options_.end_step - step) * (replan.present_seconds - replan.new_seconds);
  return replan.new_seconds <= kWorthMoreTraffic * replan.present_seconds && gain > options_.change_seconds;
}

Status Replanning::take_sought(std::int64_t step) {
  if (!sought_.valid() || sought_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return {};
  const Sought sought = sought_.get();
  Replan& replan = replans_.back();
  replan.planning_seconds = sought.seconds;
  if (!sought.plan.ok()) {
    replan.failure = sought.plan.error().message;
  } else {
    replan.new_seconds = sought.plan->predicted_step_seconds;
    if (worth_taking(replan, step)) SLUICE_RETURN_IF_ERROR(start(*sought.plan));
  }
  begin_to_observe();
  if (options_.on_plan) options_.on_plan(replan);
  return {};
}

Status Replanning::start(const Plan& plan) {
  Replan& replan = replans_.back();
  Status changed;
  replan.change_seconds = options_.change_seconds = time_of([&] { changed = session_.change_plan(plan); });
  if (!changed.ok() && !session_.running()) return changed;
  replan.taken = changed.ok();
  if (!changed.ok()) replan.failure = changed.error().message;
  return {};
}

}  // namespace sluice
