#include "sluice/train/variants/variant_training.hpp"

#include <fmt/format.h>

#include <chrono>

#include "sluice/planners/schedule/everything_fast.hpp"
#include "sluice/profile/scale_profile.hpp"
#include "sluice/train/planning/planning_advice.hpp"
#include "sluice/train/planning/policy_run.hpp"

namespace sluice::train {
namespace {

class Stopwatch {
 public:
  Seconds seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

Error of_variant(const VariantKey& key, const Error& error) {
  return {error.code, fmt::format("{}: {}", to_string(key), error.message)};
}

}  // namespace

VariantTraining::VariantTraining(memory::Machine machine, VariantSettings settings)
    : machine_(std::move(machine)),
      settings_(std::move(settings)),
      state_(std::make_shared<RunState>(machine_, settings_.session.ranks)),
      present_(settings_.reference) {}

Result<std::unique_ptr<VariantTraining>> VariantTraining::create(memory::Machine machine, VariantSettings settings) {
  std::unique_ptr<VariantTraining> training(new VariantTraining(std::move(machine), std::move(settings)));
  SLUICE_RETURN_IF_ERROR(training->start_reference());
  return training;
}

Status VariantTraining::start_reference() {
  const Stopwatch watch;
  Result<Workload> workload = settings_.build(settings_.reference);
  if (!workload.ok()) return of_variant(settings_.reference, workload.error());
  notes_ = workload->notes;
  if (settings_.fast.size) {
    const Bytes whole = planners::fast_only_bytes(workload->graph());
    settings_.fast.size = MemorySize{align_down(settings_.fast.size->resolve(whole), memory::kBlockAlignment)};
  }
  if (settings_.session.validate) {
    SLUICE_ASSIGN(evaluator_, Evaluator::create(*workload, settings_.session.data, settings_.session.seed));
    settings_.session.validate = false;  // sessions come and go
  }
  SLUICE_RETURN_IF_ERROR(add_variant(settings_.reference, std::move(*workload)));
  costs_.preparation_seconds += watch.seconds();
  SLUICE_RETURN_IF_ERROR(start_session(settings_.reference));
  for (const std::string& note : session_->notes()) notes_.push_back(note);
  return {};
}

Status VariantTraining::prepare(const VariantKey& key) {
  if (variants_.contains(key)) return {};
  const Stopwatch watch;
  Result<Workload> workload = settings_.build(key);
  if (!workload.ok()) return of_variant(key, workload.error());
  SLUICE_RETURN_IF_ERROR(add_variant(key, std::move(*workload)));
  costs_.preparation_seconds += watch.seconds();
  return {};
}

Status VariantTraining::add_variant(const VariantKey& key, Workload workload) {
  Variant variant;
  variant.key = key;
  variant.bucket = settings_.buckets.of(key.size);
  variant.workload = std::move(workload);
  variant.fingerprint = variant.workload.graph().fingerprint();
  const Result<profile::Profile> profile = profile_for(variant);
  if (!profile.ok()) return of_variant(key, profile.error());
  Result<policies::Run> run = plan_run(variant.workload, machine_, *profile, settings_.planner, settings_.fast);
  if (!run.ok()) {  // which ends the training
    return of_variant(
        key, advised(variant.workload, machine_, *profile, settings_.planner, settings_.fast, nullptr, run.error()));
  }
  ++costs_.plans;
  variant.run = std::move(*run);
  const auto added = variants_.emplace(key, std::move(variant)).first;
  if (settings_.on_planned) settings_.on_planned(added->second);
  return {};
}

Result<profile::Profile> VariantTraining::profile_for(Variant& variant) {
  const auto known = profiles_.find({variant.key.path, variant.bucket});
  variant.profiled = known == profiles_.end() ? variant.key : known->second.from;
  if (known != profiles_.end()) {
    const BucketProfile& bucket = known->second;
    ++costs_.profiles_estimated;
    profile::Profile profile =
        profile::scale_profile(variants_.at(bucket.from).workload.graph(), bucket.profile, variant.workload.graph());
    variant.distinct_ops = profile.distinct_ops;
    return profile;
  }
  SLUICE_ASSIGN(profile::Profile profile, settings_.profile(variant.workload));
  ++costs_.profiles_measured;
  variant.distinct_ops = profile.distinct_ops;
  variant.measured_ops = profile.measured_ops;
  profiles_[{variant.key.path, variant.bucket}] = {variant.key, profile};
  return profile;
}

Status VariantTraining::start_session(const VariantKey& key) {
  Variant& variant = variants_.at(key);
  Result<std::unique_ptr<Session>> session =
      Session::create(variant.workload, machine_, variant.run, settings_.session, state_);
  if (!session.ok()) return of_variant(key, session.error());
  session_ = std::move(*session);
  present_ = key;
  return {};
}

Status VariantTraining::end_session() {
  if (!session_) return {};
  SLUICE_RETURN_IF_ERROR(session_->end());
  session_.reset();
  return {};
}

Status VariantTraining::change_to(const VariantKey& key) {
  if (session_ && key == present_) return {};
  const bool switching = key != present_;
  const Stopwatch ending;
  SLUICE_RETURN_IF_ERROR(end_session());
  if (!variants_.contains(key)) SLUICE_RETURN_IF_ERROR(state_->leave_memory());
  const Seconds ended = ending.seconds();
  SLUICE_RETURN_IF_ERROR(prepare(key));
  const Stopwatch starting;
  SLUICE_RETURN_IF_ERROR(start_session(key));
  if (!switching) return {};
  ++costs_.switches;
  costs_.switch_seconds += ended + starting.seconds();
  return {};
}

Result<StepOutcome> VariantTraining::run_step(std::int64_t step, double learning_rate) {
  const VariantKey key = settings_.key_of(step);
  SLUICE_RETURN_IF_ERROR(change_to(key));
  Variant& variant = variants_.at(key);
  SLUICE_CHECK(session_->plan().graph_fingerprint == variant.fingerprint,
               fmt::format("step {} of {} runs by the plan of its graph", step, to_string(key)));
  SLUICE_ASSIGN(StepOutcome outcome, session_->run_step(step, learning_rate));
  outcome.variant = to_string(key);
  ++variant.steps;
  return outcome;
}

Result<ValidationResult> VariantTraining::validate(std::int64_t batches) {
  SLUICE_CHECK(evaluator_ != nullptr, "the training was made for validation");
  SLUICE_RETURN_IF_ERROR(end_session());
  return evaluator_->run(machine_, reference().plan(), *state_, batches);
}

// Of the reference, and of all graphs there may be.
CheckpointIdentity VariantTraining::identity() const {
  CheckpointIdentity identity = identity_of(reference().workload, settings_.session.data, settings_.session.seed);
  identity.settings += ", " + settings_.keys;
  return identity;
}

Status VariantTraining::save_checkpoint(const std::filesystem::path& path, std::int64_t next_step) {
  SLUICE_RETURN_IF_ERROR(park());
  return write_checkpoint(path, identity(), next_step, state_->parked());
}

std::optional<std::uintmax_t> VariantTraining::checkpoint_bytes() const {
  return bytes_of_checkpoint(reference().workload.graph());
}

Result<std::int64_t> VariantTraining::load_checkpoint(const std::filesystem::path& path) {
  auto loaded = std::make_shared<RunState>(machine_, settings_.session.ranks);
  SLUICE_ASSIGN(const std::int64_t next_step,
                read_checkpoint(path, identity(), reference().workload.graph(), loaded->parked()));
  session_.reset();
  state_ = std::move(loaded);
  return next_step;
}

// A policy's executor has memory of its own, which the state does not see.
Status VariantTraining::park() { return session_ ? state_->park(session_->parameters()) : state_->park(); }

Result<std::string> VariantTraining::hash_parameters() {
  SLUICE_RETURN_IF_ERROR(park());
  return state_->parked().hash();
}

}  // namespace sluice::train
