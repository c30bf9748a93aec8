// Runs steps until the number asked for, an interruption or a failure, and writes checkpoints on the way.
//
// Interrupted between steps, it writes a last checkpoint (if asked for checkpoints) and says so in the outcome.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

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
};

// Each may be left empty.
struct TrainingObserver {
  std::function<void(const StepReport&)> step;                                             // after every step
  std::function<void(std::int64_t next_step, const ValidationResult& result)> validation;  // after every validation
  std::function<bool()> stop;                                                              // asked before every step
};

// Options that ask for validation need a `training` that was made for it. An interrupted run is not validated at its
// end.
Result<TrainingOutcome> run_training(Training& training, const TrainingOptions& options,
                                     const TrainingObserver& observer);

}  // namespace sluice::train
