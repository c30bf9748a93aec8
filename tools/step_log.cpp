#include "tools/step_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "sluice/train/rank_agreement.hpp"
#include "tools/terminal/messages.hpp"
#include "tools/terminal/say.hpp"

namespace sluice::cli {
namespace {

constexpr std::size_t kTracedSteps = 5;  // the last ones: a trace of all would not open in a browser
constexpr std::int64_t kPrintedLines = 20;

}  // namespace

StepLog::StepLog(bool traced, std::int64_t first_step, std::int64_t end_step)
    : keep_traces_(traced), first_step_(first_step), end_step_(end_step), progress_("step") {}

Status StepLog::write_losses(const std::string& path) {
  SLUICE_ASSIGN(LineFile file, LineFile::create(path));
  losses_.emplace(std::move(file));
  return {};
}

// One that fails is told once, and again when it fails anew.
void StepLog::write_loss(const train::StepReport& report) {
  nlohmann::json line{{"step", report.step},
                      {"loss", report.loss},
                      {"learning_rate", report.learning_rate},
                      {"step_ms", report.trace.step_seconds * 1e3},
                      {"stall_ms", report.trace.stall_seconds * 1e3}};
  if (!report.variant.empty()) line["variant"] = report.variant;
  if (report.loss_scale) line["loss_scale"] = *report.loss_scale;
  if (const auto overlap = overlap_of_ ? overlap_of_(report.trace) : std::nullopt) {
    line["overlap"] = report::overlap_json(*overlap);
  }
  const Status written = losses_->add(line.dump());
  if (!written.ok() && losses_written_.ok()) {
    tell_problem(written.error().message + "; training goes on, and the losses are kept until they can be written");
  }
  losses_written_ = written;
}

Status StepLog::finish_losses() { return losses_ ? losses_->flush() : Status(); }

void StepLog::note(const train::StepReport& report) {
  step_seconds_.push_back(report.trace.step_seconds);
  stall_seconds_.push_back(report.trace.stall_seconds);
  last_loss_ = report.loss;
  last_step_ = report.trace;
  if (losses_) write_loss(report);
  if (keep_traces_) {
    traced_.push_back({report.step, report.trace});
    if (traced_.size() > kTracedSteps) traced_.erase(traced_.begin());
  }
  show(report);
  if (report.left_out) {
    print(fmt::format("step {:>6}  gradients overflowed: its update was left out, and the loss scale is {} now",
                      report.step + 1, *report.loss_scale));
  }
}

void StepLog::note(std::int64_t next_step, const train::ValidationResult& result) {
  validations_.push_back({next_step, result});
  print(fmt::format("step {:>6}  validation: {}", next_step, train::describe(result)));
}

void StepLog::note_change(const std::string& line) {
  traced_.clear();
  step_seconds_.clear();
  stall_seconds_.clear();
  print(line);
}

void StepLog::print(const std::string& line) {
  progress_.clear();
  say("{}\n", line);
  say_now();
}

void StepLog::show(const train::StepReport& report) {
  const std::int64_t total = end_step_ - first_step_;
  const std::int64_t done = report.step + 1 - first_step_;
  const std::int64_t every = std::max<std::int64_t>(1, total / kPrintedLines);
  if (done == 1 || done % every == 0 || done == total) {
    print(fmt::format("step {:>6}  loss {:.6f}  {:>9}  stall {:>9}{}{}", report.step + 1, report.loss,
                      format_seconds(report.trace.step_seconds), format_seconds(report.trace.stall_seconds),
                      report.variant.empty() ? "" : "  ", report.variant));
  }
  progress_.update(done, total, fmt::format("loss {:.4f}", report.loss));
}

void StepLog::tell_problem(const std::string& message) {
  progress_.clear();
  print_error(message);
}

Result<train::TrainingOutcome> run_logged(train::Training& training, const train::TrainingOptions& options,
                                          StepLog& log, const train::InterruptGuard& guard, kernels::Ranks* ranks) {
  Status agreed;  // on whether to stop
  const auto stop = [&] {
    const Result<bool> any = train::any_rank(ranks, guard.interrupted());
    if (!any.ok()) agreed = any.error();
    return !any.ok() || *any;
  };
  SLUICE_ASSIGN(
      const train::TrainingOutcome outcome,
      train::run_training(training, options,
                          {.step = [&](const train::StepReport& report) { log.note(report); },
                           .validation = [&](std::int64_t next_step,
                                             const train::ValidationResult& result) { log.note(next_step, result); },
                           .stop = stop,
                           .problem = [&](const std::string& message) { log.tell_problem(message); }}));
  SLUICE_RETURN_IF_ERROR(agreed);
  return outcome;
}

}  // namespace sluice::cli
