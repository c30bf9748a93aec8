#include "sluice/train/plan_changes/watched_training.hpp"

#include "sluice/base/time_of.hpp"

namespace sluice::train {

std::unique_ptr<WatchedTraining> watch_training(Session& session, const Workload& workload, PlannedStart start,
                                                Figures figures, const profile::AccessProfile* accesses,
                                                WatchOptions options) {
  if (start.search) return try_plans(session, std::move(start), std::move(options));
  if (!options.replans || !policies::is_planned(session.run())) return std::make_unique<WatchedTraining>(session);
  return plan_anew(session, workload, std::move(figures), accesses, std::move(options));
}

Result<StepOutcome> WatchedTraining::run_step(std::int64_t step, double learning_rate) {
  while (const std::optional<plan::Plan> next = wanted_plan(step)) {
    SLUICE_RETURN_IF_ERROR(change_to(*next));
  }
  SLUICE_ASSIGN(StepOutcome outcome, session_.run_step(step, learning_rate));
  note_step(step, outcome);
  return outcome;
}

Result<ValidationResult> WatchedTraining::validate(std::int64_t batches) {
  begin_to_observe();
  return session_.validate(batches);
}

Status WatchedTraining::save_checkpoint(const std::filesystem::path& path, std::int64_t next_step) {
  return session_.save_checkpoint(path, next_step);
}

void WatchedTraining::tell() const {
  if (options_.on_change) options_.on_change(record_);
}

Status WatchedTraining::change_to(const plan::Plan& plan) {
  PlanChange& change = record_.changes.back();
  Status changed;
  change.change_seconds = time_of([&] { changed = session_.change_plan(plan); });
  if (!changed.ok() && !session_.running()) return changed;
  change.outcome = changed.ok() ? PlanChange::Outcome::kTaken : PlanChange::Outcome::kLeft;
  if (!changed.ok()) change.failure = changed.error().message;
  begin_to_observe();
  note_change(plan, changed.ok());
  return {};
}

void WatchedTraining::note_step(std::int64_t step, StepOutcome& outcome) {
  const std::size_t wanted = steps_to_observe();
  const bool settling = unobserved_ > 0;
  outcome.variant = step_name(settling);
  if (settling) {
    --unobserved_;
    record_.warmup_steps += wanted > 0 ? 1 : 0;
  } else if (wanted > 0) {
    observed_.push_back(outcome.trace);
    if (observed_.size() >= wanted) observe(step, std::exchange(observed_, {}));
  }
  if (steps_to_observe() == 0) begin_to_observe();
}

void WatchedTraining::begin_to_observe() {
  unobserved_ = settling_steps_;
  observed_.clear();
}

}  // namespace sluice::train
