#include "sluice/train/training_loop.hpp"

namespace sluice::train {
namespace {

bool checkpoint_due(const TrainingOptions& options, std::int64_t next_step) {
  return options.checkpoint && options.checkpoint_every > 0 && next_step % options.checkpoint_every == 0 &&
         next_step < options.end_step;  // the last one is written when the loop ends
}

bool validation_due(const TrainingOptions& options, std::int64_t next_step) {
  return options.validate && options.validate_every > 0 && next_step % options.validate_every == 0 &&
         next_step < options.end_step;  // as above
}

}  // namespace

Result<TrainingOutcome> run_training(Training& training, const TrainingOptions& options,
                                     const TrainingObserver& observer) {
  const auto validate = [&](std::int64_t next_step) -> Status {
    SLUICE_ASSIGN(const ValidationResult result, training.validate(options.validation_batches));
    if (observer.validation) observer.validation(next_step, result);
    return {};
  };
  TrainingOutcome outcome{options.first_step, false};
  while (outcome.next_step < options.end_step) {
    outcome.interrupted = observer.stop && observer.stop();
    if (outcome.interrupted) break;
    const double rate = options.schedule.rate(options.learning_rate, outcome.next_step);
    SLUICE_ASSIGN(const StepOutcome step, training.run_step(outcome.next_step, rate));
    if (observer.step)
      observer.step({outcome.next_step, step.loss, rate, step.trace, step.variant, step.loss_scale, step.left_out});
    ++outcome.next_step;
    if (checkpoint_due(options, outcome.next_step)) {
      SLUICE_RETURN_IF_ERROR(training.save_checkpoint(*options.checkpoint, outcome.next_step));
    }
    if (validation_due(options, outcome.next_step)) SLUICE_RETURN_IF_ERROR(validate(outcome.next_step));
  }
  if (options.checkpoint && outcome.next_step > options.first_step) {
    SLUICE_RETURN_IF_ERROR(training.save_checkpoint(*options.checkpoint, outcome.next_step));
  }
  if (options.validate && !outcome.interrupted) SLUICE_RETURN_IF_ERROR(validate(outcome.next_step));
  return outcome;
}

}  // namespace sluice::train
