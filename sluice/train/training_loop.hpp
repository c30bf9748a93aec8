// Runs steps until the number asked for, an interruption or a failure, and writes checkpoints on the way.
//
// What the result does not depend on does not end a run:
//   * whether a checkpoint can be written is tried before the first step (base/atomic_file.hpp)
//   * one on the way that fails is reported, and tried again after 1, 2, 4 ... more steps
//   * a validation on the way that fails is reported, and training goes on where it stood
//   * the last checkpoint is tried several times, and what is asked for besides is done all the same
// A step that fails ends the run: its error names the last checkpoint there is.
//
// Interrupted between steps, it writes a last checkpoint (if asked for checkpoints) and says so in the outcome.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "sluice/train/learning_rate.hpp"
#include "sluice/train/training.hpp"

namespace sluice::train {

struct TrainingOptions {
  std::int64_t first_step = 0;  // where a resumed run goes on
  std::int64_t end_step = 0;    // one past the last
  double learning_rate = 0.1;
  LearningRateSchedule schedule;
  std::optional<std::filesystem::path> checkpoint;
  std::int64_t checkpoint_every = 0;    // steps; 0: at the end only
  bool validate = false;                // at the end of the run
  std::int64_t validate_every = 0;      // with `validate`: also after every so many steps; 0: not
  std::int64_t validation_batches = 0;  // 0: the whole split
};

struct StepReport {
  std::int64_t step = 0;
  float loss = 0;
  double learning_rate = 0;
  const program::StepTimes& trace;
  const std::string& variant;            // empty where all steps are alike
  std::optional<float> loss_scale = {};  // as in StepOutcome
  bool left_out = false;
};

struct TrainingOutcome {
  std::int64_t next_step = 0;
  bool interrupted = false;
  std::optional<std::int64_t> saved = {};  // the step that the last checkpoint written goes on with
  Status failure = {};                     // of what was to be done at the end: the checkpoint, the validation
};

// Each may be left empty.
struct TrainingObserver {
  std::function<void(const StepReport&)> step;                                             // after every step
  std::function<void(std::int64_t next_step, const ValidationResult& result)> validation;  // after every validation
  std::function<bool()> stop;                                                              // asked before every step
  std::function<void(const std::string& message)> problem;  // what failed and was outlived
};

// Options that ask for validation need a `training` that was made for it. An interrupted run is not validated at its
// end.
Result<TrainingOutcome> run_training(Training& training, const TrainingOptions& options,
                                     const TrainingObserver& observer);

}  // namespace sluice::train
