// Several planners side by side on the same steps: the measurement behind `sluice compare`.
//
// Each planner has a process of its own (worker.hpp). It runs as `sluice train` would, and it is stopped while it is
// not its turn. The planners take steps in turn, in an order that rotates: A B C, B C A, C A B. So drift of the
// machine, and what one planner leaves in the caches, meet all of them alike. A slowdown is the median over rounds of
// this planner's step time divided by the baseline's step time of the same round. The first two rounds are warm-up:
// trained but not timed. The baseline, fast-only, is added when it is not asked for. A planner that cannot run has the
// reason in its row; the others go on.
//
// All this is done `starts` times, with processes of their own each time. On some machines a process has a speed that
// it keeps for its life, perhaps by where its pages lie: two of them with the same plan have differed by a fifth in
// every one of their rounds. More rounds of the same process cannot tell that from the plan's doing; another process
// can.
//
// Ahead of the rounds:
//   - the baseline takes a few steps. If its prediction is off by more than kProfileTolerance, the op times belong to
//     another moment (a busy minute, a slower clock). They are then measured again, once, and all plans are made with
//     the new ones;
//   - a planner that decides by trials makes them in this process, and takes part with the plan it kept;
//   - a policy that looks at pages in passes runs until it has made several passes, for as many steps as in its
//     prediction (settling_steps()). So the policy at work is compared, not the placement that it began with. Then it
//     begins again with the initial parameters.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sluice/experiment/comparison_result.hpp"
#include "sluice/profile/profile.hpp"
#include "sluice/train/learning_rate.hpp"
#include "sluice/train/planning/planning.hpp"
#include "sluice/train/session.hpp"

namespace sluice::experiment {

inline constexpr double kProfileTolerance = 0.05;

// The number of rounds of a start, warm-up included, where nobody gives one: seven timed rounds if a step takes less
// than half a second, three if it takes longer.
std::int64_t default_rounds(Seconds fast_only_step);

struct ComparisonOptions {
  std::vector<std::string> planners;
  train::FastBudget fast;
  std::optional<std::int64_t> steps;  // rounds of each start, warm-up included; nothing: default_rounds()
  std::int64_t starts = 1;            // of a process for each contestant
  double learning_rate = 0.02;
  train::LearningRateSchedule schedule;
  train::SessionOptions session;
  const profile::AccessProfile* accesses = nullptr;  // for planners that go by them
  // Most steps that a planner with a search may spend on trials, as start_planning() takes it; others make none.
  std::optional<std::int64_t> trials;
  // Measures all op times again. Empty: the op times were given, and are kept whatever they predict.
  std::function<Result<profile::Profile>()> measure_again;
  std::filesystem::path worker = "/proc/self/exe";  // run with the argument "worker"
};

// Whether there are processes and rounds to compare. compare_planners() asks first; whoever measures a profile for it
// asks before that.
Status check_rounds(const ComparisonOptions& options);

// What is being done, and how many parts of it are done: for progress.
using ComparisonProgress = std::function<void(std::string_view what, std::int64_t done, std::int64_t total)>;

// Rows in the order asked for, with the baseline first when it was added. One planner's failure goes into its row. The
// comparison as a whole fails when the baseline cannot run, for bad input (kBadInput: the caller's mistake, no
// planner's), when op times cannot be measured again, when there is no place for the plans' files (kIo), or when `stop`
// says so (kInterrupted).
Result<ComparisonResult> compare_planners(const train::Workload& workload, const memory::Machine& machine,
                                          const profile::Profile& profile, const ComparisonOptions& options,
                                          const ComparisonProgress& progress, const std::function<bool()>& stop);

}  // namespace sluice::experiment
