// What the training loop drives: a session with one graph and one plan (session.hpp), or one whose graph changes
// between steps (variant_training.hpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "sluice/base/result.hpp"
#include "sluice/program/step_times.hpp"
#include "sluice/train/evaluation.hpp"

namespace sluice::train {

struct StepOutcome {
  float loss = 0;  // the sum, where a step has several losses
  program::StepTimes trace;
  std::string variant;  // which graph it was, where there are several: "size 25"
  // Where gradients are in fp16 (rewrite/scale_loss.hpp): the scale of the next step, and whether this one's overflowed.
  std::optional<float> loss_scale = {};
  bool left_out = false;
};

class Training {
 public:
  virtual ~Training() = default;

  virtual Result<StepOutcome> run_step(std::int64_t step, double learning_rate) = 0;
  // 0: all there are. After an error, training goes on as if it had not been asked where it is still running().
  virtual Result<ValidationResult> validate(std::int64_t batches) = 0;
  virtual Status save_checkpoint(const std::filesystem::path& path, std::int64_t next_step) = 0;
  // About as much as save_checkpoint() writes; nothing where another process writes it.
  virtual std::optional<std::uintmax_t> checkpoint_bytes() const = 0;
  virtual bool running() const = 0;  // there can be another step
};

}  // namespace sluice::train
