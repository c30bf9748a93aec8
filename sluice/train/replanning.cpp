#include "sluice/train/replanning.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/base/time_of.hpp"

namespace sluice::train {
namespace {

constexpr int kNiceness = 10;  // a tenth of what a compute thread gets of a core that both want

// Of the calling thread alone.
void lower_priority() { ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNiceness); }

}  // namespace

Seconds usual_change_seconds(const graph::Graph& graph) {
  constexpr Seconds kArenas = 1;
  constexpr BytesPerSecond kDisk = 500e6;
  Bytes bytes = 0;
  for (const graph::TensorId id : persistent_tensors(graph)) bytes += graph.tensor(id).bytes;
  return kArenas + 2 * static_cast<double>(bytes) / kDisk;
}

Replanning::Replanning(Session& session, const Workload& workload, Figures figures,
                       const profile::AccessProfile* accesses, ReplanningOptions options)
    : session_(session),
      workload_(workload),
      figures_(std::move(figures)),
      accesses_(accesses),
      options_(std::move(options)) {
  if (!options_.change_seconds) options_.change_seconds = usual_change_seconds(workload.graph());
  SLUICE_CHECK(!figures_.estimated || options_.cache != nullptr, "a cache for what steps measure");
}

Replanning::~Replanning() {
  stop_ = true;
  if (sought_.valid()) sought_.wait();
}

bool Replanning::watches() const {
  return policies::is_planned(session_.run()) && (figures_.estimated || !session_.program().transfers.empty());
}

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

sim::PlannedStep Replanning::present() const { return {session_.lowered(), figures_.profile, figures_.machine}; }

void Replanning::observe(program::StepTimes times, std::int64_t step) {
  observed_.push_back(std::move(times));
  const bool estimated = figures_.estimated;
  if (observed_.size() < as_index(estimated ? kMeasuringSteps : kObservedSteps)) return;
  const std::vector<program::StepTimes> steps = std::exchange(observed_, {});
  const sim::PlannedStep step_before = present();
  const program::StepTimes before = step_before.simulated();
  const sim::Drift drift = sim::measure_drift(session_.program(), before, steps);
  const Seconds left = static_cast<double>(options_.end_step - step - 1) * steps.back().step_seconds;
  const bool for_long = left >= options_.least_seconds_left;
  if (estimated) {
    figures_ = figures_from_steps(workload_, step_before, figures_, before, steps, *options_.cache);
  } else if (for_long && drift.largest() > 1 + options_.beyond) {
    figures_ = {sim::drifted(std::move(figures_.machine), drift), sim::drifted(std::move(figures_.profile), drift)};
  } else {
    return;
  }
  if (!for_long) return;
  const program::StepTimes now = present().simulated();
  if (!worth_seeking(now, estimated)) return;
  replans_.push_back({.step = step, .estimated = estimated, .drift = drift, .present_seconds = now.step_seconds});
  if (options_.on_drift) options_.on_drift(replans_.back());
  seek_plan();
}

// A plan made in haste may lose time in other ways than by waiting.
bool Replanning::worth_seeking(const program::StepTimes& present, bool instead_of_estimates) const {
  if (!instead_of_estimates) return present.stall_seconds > (1 - planners::kWorthMoreTraffic) * present.step_seconds;
  const Seconds all_fast = predicted_baseline_seconds(workload_, figures_.machine, figures_.profile);
  return !session_.program().transfers.empty() && all_fast < planners::kWorthMoreTraffic * present.step_seconds;
}

// Nothing that the thread reads is written while it runs: the figures stay until its plan was taken.
void Replanning::seek_plan() {
  const FastBudget fast{MemorySize{session_.plan().budgets[memory::kFastTier]}};
  const auto watch = std::make_shared<const planners::PlanningWatch>(
      planners::PlanningWatch{.progress = {}, .stop = [this] { return stop_.load(); }});
  sought_ = std::async(std::launch::async, [this, fast, watch] {
    lower_priority();
    std::optional<Result<plan::Plan>> plan;
    const Seconds seconds = time_of([&] {
      plan = plan_workload(workload_, figures_.machine, figures_.profile, options_.planner, fast, accesses_, watch);
    });
    return Sought{*std::move(plan), seconds};
  });
}

bool Replanning::worth_taking(const Replan& replan, std::int64_t step) const {
  const Seconds gain = static_cast<double>(options_.end_step - step) * (replan.present_seconds - replan.new_seconds);
  return replan.new_seconds <= planners::kWorthMoreTraffic * replan.present_seconds && gain > *options_.change_seconds;
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

Status Replanning::start(const plan::Plan& plan) {
  Replan& replan = replans_.back();
  Status changed;
  replan.change_seconds = time_of([&] { changed = session_.change_plan(plan); });
  options_.change_seconds = replan.change_seconds;
  if (!changed.ok() && !session_.running()) return changed;
  replan.taken = changed.ok();
  if (!changed.ok()) replan.failure = changed.error().message;
  return {};
}

}  // namespace sluice::train
