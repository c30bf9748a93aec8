// The largest batch that a planner can train in a budget of fast memory: HOME's table 2 and Sentinel's table V.
//
// Nothing is run: a batch fits where the planner finds a plan and the verifier passes it. Doubling finds a batch that
// does not fit, halving the gap the largest that does: exactly up to 64, to 1 % above. A planner for which a larger
// batch fits where a smaller one does not is judged by the smaller one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/experiment/batch_times.hpp"
#include "sluice/train/workload/workload.hpp"

namespace sluice::experiment {

struct BatchTrial {
  std::int64_t batch = 0;
  bool fits = false;
  Bytes everything = 0;                         // what the step takes with everything in fast memory
  std::optional<Error> failure = std::nullopt;  // why it does not fit, in the planner's words
};

struct MaxBatch {
  std::int64_t batch = 0;          // 0: not even one sample fits
  std::vector<BatchTrial> trials;  // in the order in which they were made
};

struct MaxBatchOptions {
  train::WorkloadOptions workload;  // its batch is where the search begins
  memory::Machine machine;
  std::string planner;
  Bytes fast = 0;
  std::int64_t most = 1 << 20;
};

// `report`: after every trial. kInterrupted when `stop` says so. Bad input and machines that the planner cannot use are
// errors; a batch that does not fit is a trial.
Result<MaxBatch> find_max_batch(const MaxBatchOptions& options, const BatchTimes& times,
                                const std::function<void(const BatchTrial&)>& report,
                                const std::function<bool()>& stop);

}  // namespace sluice::experiment
