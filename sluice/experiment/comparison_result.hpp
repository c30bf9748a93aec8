// What a comparison comes to: one row for each planner or policy, and how its predictions were prepared.
//
// Predictions are compared as ratios: a plan's predicted step over fast-only's predicted step, beside the measured step
// over fast-only's measured step of the same rounds. Drift of the machine between the measurement of op times and the
// rounds changes both steps of a ratio alike; what is left is the error of the model. The absolute error stands beside
// it. The bound is handled in the same way: it is a sum of op times of another moment, so it is multiplied by
// fast-only's measured step over fast-only's predicted step.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sluice/base/spread.hpp"
#include "sluice/experiment/step_prediction.hpp"
#include "sluice/experiment/worker.hpp"
#include "sluice/policies/run.hpp"
#include "sluice/sim/time_breakdown.hpp"
#include "sluice/train/plan_changes/plan_record.hpp"

namespace sluice::experiment {

// Steps at the beginning, trained like all others but not timed.
inline constexpr std::int64_t kWarmupRounds = 2;

// All that one worker did from the first round on.
struct WorkerRun {
  std::vector<WorkerStep> steps;
  WorkerSummary summary;
};

// What a policy did in all steps of its last process: those before the first round, in which it found its balance, and
// the rounds.
struct PolicyActivity {
  std::int64_t settling_steps = 0;
  std::int64_t steps = 0;  // in all
  Bytes bytes_in = 0;      // copied in all of them, towards the fast tier
  Bytes bytes_out = 0;
  std::vector<std::pair<std::string, double>> figures;  // Policy::figures(): passes over the lists, faults, ...

  // Passes over the accessed bits; nothing where the policy makes no passes.
  std::optional<double> passes() const;
};

struct ComparisonRow {
  std::string planner;
  std::optional<Error> failure;  // why there is nothing else in this row
  policies::Run run;
  Spread step_seconds;
  Spread slowdown;                         // over rounds: the step divided by the baseline's of the same round
  std::vector<double> slowdown_of_starts;  // the median of each start: how much the processes differ
  double predicted_slowdown = 1;           // predicted step divided by the baseline's
  Seconds bound_seconds = 0;               // the plan's lower bound, scaled to the moment of the rounds
  Seconds stall_seconds = 0;               // median
  Bytes bytes_in = 0;                      // average of the timed steps, towards the fast tier
  Bytes bytes_out = 0;
  Bytes raw_bytes_in = 0;  // the same if all moved as it is
  Bytes raw_bytes_out = 0;
  Bytes peak_rss_bytes = 0;                           // most of all starts
  std::optional<sim::TimeBreakdown> predicted_parts;  // of the step's time; nothing under a policy
  std::optional<sim::TimeBreakdown> measured_parts;   // of the last step
  nlohmann::json locality;                            // locality_json() of the last step; null: not known
  std::vector<std::uint32_t> loss_bits;               // of every step's loss in fp32, of the first start
  std::string parameter_hash;
  bool same_losses = false;  // as the baseline's first, bit for bit, at every step of every start
  bool same_parameters = false;
  // Its ops run by other kernels, or on other processors, than the baseline's, which may round differently: that the
  // bits differ then says nothing. (Plans that are all given the same choices can be compared.)
  bool other_choices = false;
  std::vector<Seconds> rounds;              // step times after warm-up, of all starts
  std::optional<train::PlanRecord> trials;  // the trials that chose the plan
  std::optional<PolicyActivity> policy;     // where a policy decided
  std::vector<std::string> notes;

  const plan::Plan& plan() const { return policies::plan_of(run); }
  double prediction_error() const { return plan().predicted_step_seconds / step_seconds.median - 1; }
  double ratio_error() const { return predicted_slowdown / slowdown.median - 1; }
  bool same_bits() const { return same_losses && same_parameters; }
  float loss(std::size_t step) const;
};

// How op times were judged before anything was planned with them: fast-only's prediction is nothing but their sum.
struct ProfileCheck {
  Seconds measured_seconds = 0;         // fast-only's step, before the first round
  double error = 0;                     // of its prediction at that time
  bool measured_again = false;          // op times were measured again because of that error
  std::optional<double> error_after;    // of the prediction with the new op times
  bool with_accesses = false;           // planners were given counted main-memory accesses
  std::vector<std::string> placements;  // slow tiers for which op times by placement were known
};

struct ComparisonResult {
  std::vector<ComparisonRow> rows;
  std::int64_t starts = 0;  // processes of each
  std::int64_t steps = 0;   // of each process, warm-up included
  ProfileCheck profile;

  bool same_bits() const;  // of all rows that ran with the baseline's choices
};

// Fills in what was measured in the runs of every start. Both have made the same starts and in each the same number of
// steps, more than kWarmupRounds; `baseline` may be the row itself with its own runs.
void add_measurements(ComparisonRow& row, std::span<const WorkerRun> runs, const ComparisonRow& baseline,
                      std::span<const WorkerRun> baseline_runs, const memory::Machine& machine);

// What a step moved.
MovedBytes traffic_of(const WorkerStep& step, const memory::Machine& machine);

}  // namespace sluice::experiment
