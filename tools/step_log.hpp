// What `sluice train` notes of its steps: lines on the terminal, losses to a file, the last steps for the trace.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sluice/base/line_file.hpp"
#include "sluice/base/progress/progress.hpp"
#include "sluice/base/spread.hpp"
#include "sluice/kernels/ranks.hpp"
#include "sluice/report/chrome_trace.hpp"
#include "sluice/report/step/overlap.hpp"
#include "sluice/train/interrupt.hpp"
#include "sluice/train/training_loop.hpp"

namespace sluice::cli {

struct ValidationRecord {
  std::int64_t step = 0;  // steps trained before it
  train::ValidationResult result;
};

class StepLog {
 public:
  // `traced`: whether to keep steps for a trace.
  StepLog(bool traced, std::int64_t first_step, std::int64_t end_step);

  // From now on a JSON line for every step goes into this file. kIo where it cannot be made.
  Status write_losses(const std::string& path);

  // How busy lanes were in a step, where that is known; for the file of losses.
  using OverlapOf = std::function<std::optional<report::Overlap>(const program::StepTimes&)>;
  void note_overlaps(OverlapOf overlap_of) { overlap_of_ = std::move(overlap_of); }

  void note(const train::StepReport& report);
  void note(std::int64_t next_step, const train::ValidationResult& result);
  void print(const std::string& line);
  void tell_problem(const std::string& message);  // that training outlives
  // Notes that another plan runs from the next step on: traces and times are then of that plan alone.
  void note_change(const std::string& line);

  bool empty() const { return step_seconds_.empty(); }
  float last_loss() const { return last_loss_; }
  const program::StepTimes& last_step() const { return last_step_; }
  Spread step_seconds() const { return spread_of(step_seconds_); }
  Spread stall_seconds() const { return spread_of(stall_seconds_); }
  const std::vector<report::TracedStep>& traced() const { return traced_; }
  const std::vector<ValidationRecord>& validations() const { return validations_; }
  // Of the file of losses: what waits to be written is tried again.
  Status finish_losses();

 private:
  void show(const train::StepReport& report);
  void write_loss(const train::StepReport& report);

  bool keep_traces_;
  std::int64_t first_step_, end_step_;
  ProgressLine progress_;
  std::optional<LineFile> losses_;
  Status losses_written_;
  OverlapOf overlap_of_;
  std::vector<report::TracedStep> traced_;
  std::vector<ValidationRecord> validations_;
  std::vector<double> step_seconds_;
  std::vector<double> stall_seconds_;
  float last_loss_ = 0;
  program::StepTimes last_step_;
};

// Runs the training loop until its end or until `guard` is told to stop, with everything noted in `log`. `ranks` (nullptr:
// one) stop together.
Result<train::TrainingOutcome> run_logged(train::Training& training, const train::TrainingOptions& options,
                                          StepLog& log, const train::InterruptGuard& guard,
                                          kernels::Ranks* ranks = nullptr);

}  // namespace sluice::cli
