// A way to run a step that Sentinel considers: the options it was made with, the finished plan, and what simulating the
// plan shows. Making a candidate costs a few milliseconds (tens for ResNet-200).
#pragma once

#include "sluice/planners/planner.hpp"
#include "sluice/planners/schedule/pack.hpp"
#include "sluice/planners/schedule/slow_tier.hpp"
#include "sluice/planners/sentinel/interval_schedule.hpp"

namespace sluice {

struct Candidate {
  ScheduleOptions options;
  Plan plan;
  Program program;
  StepTimes timeline;
  std::vector<PrefetchKey> prefetches;  // those that the plan makes and could leave out
};

class CandidateBuilder {
 public:
  // The builder copies `request`. What `request` refers to must outlive the builder.
  CandidateBuilder(const PlanRequest& request, const SlowTier& slow);
  CandidateBuilder(const CandidateBuilder&) = delete;
  CandidateBuilder& operator=(const CandidateBuilder&) = delete;

  Result<Candidate> build(const ScheduleOptions& options, const Forecast& forecast);
  // The same with more capacity, if the exact search packs more into the budget than the portfolio does: a few tenths of
  // a second. Candidates built later have that capacity too, where they pack.
  std::optional<Candidate> build_tightly(const ScheduleOptions& options, const Forecast& forecast);

  const PlanRequest& request() const { return request_; }
  const SlowTier& slow() const { return slow_; }
  Bytes budget() const { return request_.budgets[kFastTier]; }
  const Liveness& liveness() const { return liveness_; }
  const ScheduleProblem& problem() const { return problem_; }
  const CostModel& costs() const { return costs_; }
  int built() const { return built_; }  // so far

 private:
  PlanBuilder builder_of(const IntervalSchedule& schedule) const;
  Candidate simulated(const ScheduleOptions& options, PackedPlan packed, std::vector<PrefetchKey> prefetches) const;

  PlanRequest request_;
  SlowTier slow_;
  Liveness liveness_;
  std::vector<MovingUnit> units_;
  CostModel costs_;
  ScheduleProblem problem_;
  Bytes capacity_;                       // for the next one to begin with
  std::optional<Bytes> tight_capacity_;  // that the exact search packed
  int built_ = 0;
};

}  // namespace sluice
