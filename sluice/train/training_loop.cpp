#include "sluice/train/training_loop.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <thread>

#include "sluice/base/as_result.hpp"
#include "sluice/base/atomic_file.hpp"

namespace sluice::train {
namespace {

// Before each of the last checkpoint's trials: what fails for a moment may have passed.
constexpr std::array kPauses{std::chrono::milliseconds(0), std::chrono::milliseconds(100),
                             std::chrono::milliseconds(1000)};

class Loop {
 public:
  Loop(Training& training, const TrainingOptions& options, const TrainingObserver& observer)
      : training_(training), options_(options), observer_(observer), outcome_{options.first_step} {}

  Result<TrainingOutcome> run() {
    SLUICE_RETURN_IF_ERROR(try_checkpoint());
    const Status steps = run_steps();
    if (!steps.ok()) return naming_checkpoint(steps.error());
    if (options_.checkpoint && outcome_.next_step > options_.first_step && outcome_.saved != outcome_.next_step) {
      keep(save_last());
    }
    if (options_.validate && !outcome_.interrupted && training_.running()) keep(validate());
    if (!training_.running()) return naming_checkpoint(outcome_.failure.error());  // nothing can be had of it any more
    return std::move(outcome_);
  }

  // Where an exception ends the run, whose message cannot be added to.
  void tell_checkpoint() const {
    if (outcome_.saved) tell(where_saved());
  }

 private:
  bool due(std::int64_t every) const {
    // What is due at the end is done when the loop has ended.
    return every > 0 && outcome_.next_step % every == 0 && outcome_.next_step < options_.end_step;
  }

  Status try_checkpoint() const {
    if (!options_.checkpoint) return {};
    const std::optional<std::uintmax_t> bytes = training_.checkpoint_bytes();
    return bytes ? try_to_write(*options_.checkpoint, *bytes) : Status();
  }

  Status run_steps() {
    while (outcome_.next_step < options_.end_step) {
      outcome_.interrupted = observer_.stop && observer_.stop();
      if (outcome_.interrupted) return {};
      SLUICE_RETURN_IF_ERROR(run_step());
      if (options_.checkpoint && (due(options_.checkpoint_every) || outcome_.next_step == again_at_)) {
        SLUICE_RETURN_IF_ERROR(save_on_the_way());
      }
      if (options_.validate && due(options_.validate_every)) SLUICE_RETURN_IF_ERROR(validate_on_the_way());
    }
    return {};
  }

  Status run_step() {
    const double rate = options_.schedule.rate(options_.learning_rate, outcome_.next_step);
    SLUICE_ASSIGN(const StepOutcome step, training_.run_step(outcome_.next_step, rate));
    if (observer_.step) {
      observer_.step({outcome_.next_step, step.loss, rate, step.trace, step.variant, step.loss_scale, step.left_out});
    }
    ++outcome_.next_step;
    return {};
  }

  Status save() {
    const Status saved = as_result([&] { return training_.save_checkpoint(*options_.checkpoint, outcome_.next_step); });
    if (saved.ok()) outcome_.saved = outcome_.next_step;
    return saved;
  }

  Status save_on_the_way() {
    const Status saved = save();
    if (!saved.ok() && !training_.running()) return saved;
    again_at_.reset();
    if (saved.ok()) {
      again_after_ = 1;
      return {};
    }
    again_at_ = outcome_.next_step + again_after_;
    tell(fmt::format("step {}: {}; training goes on, and it is tried again after {} more step{}", outcome_.next_step,
                     saved.error().message, again_after_, again_after_ == 1 ? "" : "s"));
    again_after_ *= 2;
    return {};
  }

  Status save_last() {
    Status saved;
    for (const std::chrono::milliseconds pause : kPauses) {
      std::this_thread::sleep_for(pause);
      saved = save();
      if (saved.ok() || !training_.running()) return saved;
    }
    return naming_checkpoint(saved.error());
  }

  Status validate() {
    SLUICE_ASSIGN(const ValidationResult result,
                  as_result([&] { return training_.validate(options_.validation_batches); }));
    if (observer_.validation) observer_.validation(outcome_.next_step, result);
    return {};
  }

  Status validate_on_the_way() {
    const Status validated = validate();
    if (validated.ok() || !training_.running()) return validated;
    tell(fmt::format("step {}: the validation failed: {}; training goes on", outcome_.next_step,
                     validated.error().message));
    return {};
  }

  // The first failure is the outcome's, others are told at once.
  void keep(const Status& status) {
    if (status.ok()) return;
    if (outcome_.failure.ok()) {
      outcome_.failure = status;
    } else {
      tell(status.error().message);
    }
  }

  Error naming_checkpoint(Error error) const {
    if (options_.checkpoint) error.message += "; " + where_saved();
    return error;
  }

  std::string where_saved() const {
    if (!outcome_.saved) return "no checkpoint of this run was written";
    return fmt::format("the last checkpoint has {} steps: --resume {} goes on from there", *outcome_.saved,
                       options_.checkpoint->string());
  }

  void tell(const std::string& message) const {
    if (observer_.problem) observer_.problem(message);
  }

  Training& training_;
  const TrainingOptions& options_;
  const TrainingObserver& observer_;
  TrainingOutcome outcome_;
  std::optional<std::int64_t> again_at_;  // a checkpoint that failed is tried again before this step
  std::int64_t again_after_ = 1;          // steps
};

}  // namespace

Result<TrainingOutcome> run_training(Training& training, const TrainingOptions& options,
                                     const TrainingObserver& observer) {
  Loop loop(training, options, observer);
  try {
    return loop.run();
  } catch (...) {
    loop.tell_checkpoint();
    throw;
  }
}

}  // namespace sluice::train
