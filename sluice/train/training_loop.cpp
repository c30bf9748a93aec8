#include "sluice/train/training_loop.hpp"

namespace sluice {
namespace {

bool checkpoint_due(const TrainingOptions& options, std::int64_t next_step) {
  return options.checkpoint && options.checkpoint_every > 0 && next_step % options.checkpoint_every == 0 &&
         next_step < options.end_step;  // the last one is written when the loop ends
}

}  // namespace

Result<TrainingOutcome> run_training(Session& session, const TrainingOptions& options,
                                     const std::function<void(const StepReport&)>& observe,
                                     const std::function<bool()>& stop) {
  TrainingOutcome outcome{options.first_step, false};
  while (outcome.next_step < options.end_step) {
    outcome.interrupted = stop();
    if (outcome.interrupted) break;
    const float rate = options.schedule.rate(options.learning_rate, outcome.next_step);
    SLUICE_ASSIGN(const StepOutcome step, session.run_step(outcome.next_step, rate));
    observe({outcome.next_step, step.loss, rate, step.trace});
    ++outcome.next_step;
    if (checkpoint_due(options, outcome.next_step)) {
      SLUICE_RETURN_IF_ERROR(session.save_checkpoint(*options.checkpoint, outcome.next_step));
    }
  }
  if (options.checkpoint && outcome.next_step > options.first_step) {
    SLUICE_RETURN_IF_ERROR(session.save_checkpoint(*options.checkpoint, outcome.next_step));
  }
  return outcome;
}

}  // namespace sluice
