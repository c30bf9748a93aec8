// Several planners side by side on the same steps: the measurement behind `sluice compare`.
//
// Each planner has a process of its own (worker.hpp). They take steps in turn, A B C A B C, so that drift of the
// machine meets all alike; a slowdown is the median over rounds of this planner's step time over the baseline's of the
// same round. A planner that decides by trials makes them before all that, in this process, and takes part with the
// plan it kept. The first two rounds are warm-up: trained but not timed. The baseline, fast-only, is added when it is
// not asked for. A planner that cannot run has the reason in its row; the others go on.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sluice/experiment/plan_trials.hpp"
#include "sluice/profile/profile.hpp"
#include "sluice/train/learning_rate.hpp"
#include "sluice/train/planning.hpp"
#include "sluice/train/session.hpp"

namespace sluice {

inline constexpr std::int64_t kWarmupRounds = 2;

struct ComparisonOptions {
  std::vector<std::string> planners;
  FastBudget fast;
  std::int64_t steps = 10;  // rounds in all, warm-up included
  double learning_rate = 0.02;
  LearningRateSchedule schedule;
  SessionOptions session;
  const AccessProfile* accesses = nullptr;  // for planners that go by them
  // Most steps that a planner with a search may spend on trials, as start_planning() takes it; others make none.
  std::optional<std::int64_t> trials;
};

struct Spread {
  double median = 0, min = 0, max = 0;
};
Spread spread_of(std::vector<double> values);  // not empty

struct ComparisonRow {
  std::string planner;
  std::optional<Error> failure;  // why there is nothing else in this row
  Plan plan;
  Spread step_seconds;
  double slowdown = 0;
  Spread slowdown_spread;
  Seconds stall_seconds = 0;  // median
  Bytes bytes_in = 0;         // per step, towards the fast tier
  Bytes bytes_out = 0;
  Bytes peak_rss_bytes = 0;
  nlohmann::json locality;    // locality_json() of the last step; null: not known
  std::vector<float> losses;  // of every step
  std::string parameter_hash;
  bool same_losses = false;  // as the baseline's, bit for bit, at every step
  bool same_parameters = false;
  std::vector<Seconds> rounds;        // step times after warm-up
  std::optional<TrialRecord> trials;  // that chose the plan
  std::vector<std::string> notes;

  double prediction_error() const { return plan.predicted_step_seconds / step_seconds.median - 1; }
  bool same_bits() const { return same_losses && same_parameters; }
};

// What is being done, and how many parts of it are done: for progress.
using ComparisonProgress = std::function<void(std::string_view what, std::int64_t done, std::int64_t total)>;

// Rows in the order asked for, baseline first when it was added. Fails as a whole only when the baseline cannot run or
// `stop` says so (kInterrupted).
Result<std::vector<ComparisonRow>> compare_planners(const Workload& workload, const Machine& machine,
                                                    const Profile& profile, const ComparisonOptions& options,
                                                    const ComparisonProgress& progress,
                                                    const std::function<bool()>& stop);

}  // namespace sluice
