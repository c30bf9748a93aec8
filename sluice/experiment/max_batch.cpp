#include "sluice/experiment/max_batch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"
#include "sluice/train/planning/planning.hpp"

namespace sluice::experiment {
namespace {

class BatchSearch {
 public:
  BatchSearch(const MaxBatchOptions& options, const BatchTimes& times,
              const std::function<void(const BatchTrial&)>& report, const std::function<bool()>& stop)
      : options_(options), times_(times), report_(report), stop_(stop) {}

  Result<MaxBatch> run() {
    std::int64_t fits = 0;
    std::int64_t too_large = options_.most + 1;
    for (std::int64_t next = std::max<std::int64_t>(options_.workload.shape.batch, 1); next - fits > 0;) {
      SLUICE_ASSIGN(const bool does, try_batch(next));
      (does ? fits : too_large) = next;
      const std::int64_t exact_enough = std::max<std::int64_t>(1, fits / 100);
      if (too_large - fits <= exact_enough || fits >= options_.most) break;
      next = too_large > options_.most ? std::min(2 * fits, options_.most) : fits + (too_large - fits) / 2;
    }
    found_.batch = fits;
    return std::move(found_);
  }

 private:
  Result<bool> try_batch(std::int64_t batch) {
    if (stop_()) return Error{ErrorCode::kInterrupted, "interrupted while looking for the largest batch"};
    train::WorkloadOptions sized = options_.workload;
    sized.shape.batch = batch;
    SLUICE_ASSIGN(const train::Workload workload, train::build_workload(sized));
    BatchTrial trial{batch, false, planners::fast_only_bytes(workload.graph())};
    const profile::Profile profile = times_.at(workload.graph(), batch, options_.machine);
    const Result<plan::Plan> plan = draft(workload, profile);
    trial.fits = plan.ok();
    if (!plan.ok()) {
      if (!wants_more_room(plan.error().code)) return plan.error();
      trial.failure = plan.error();
    }
    report_(trial);
    found_.trials.push_back(trial);
    return trial.fits;
  }

  Result<plan::Plan> draft(const train::Workload& workload, const profile::Profile& profile) const {
    const train::FastBudget fast{MemorySize{options_.fast}};
    if (options_.planner == planners::kBaselinePlanner && planners::fast_only_bytes(workload.graph()) > options_.fast) {
      const Bytes everything = planners::fast_only_bytes(workload.graph());
      return Error{ErrorCode::kInfeasible, fmt::format("everything takes {}", format_bytes(everything)), everything,
                   options_.fast};
    }
    SLUICE_ASSIGN(train::BudgetedRequest asked,
                  train::budgeted_request(workload, options_.machine, profile, options_.planner, fast));
    asked.request.draft = true;
    return planners::make_plan(options_.planner, asked.request);
  }

  const MaxBatchOptions& options_;
  const BatchTimes& times_;
  const std::function<void(const BatchTrial&)>& report_;
  const std::function<bool()>& stop_;
  MaxBatch found_;
};

}  // namespace

Result<MaxBatch> find_max_batch(const MaxBatchOptions& options, const BatchTimes& times,
                                const std::function<void(const BatchTrial&)>& report,
                                const std::function<bool()>& stop) {
  return BatchSearch(options, times, report, stop).run();
}

}  // namespace sluice::experiment
