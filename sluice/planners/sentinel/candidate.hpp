// A way to run a step that Sentinel considers: the options it was made with, the finished plan, and what simulating the
// plan shows. Making a candidate costs a few milliseconds (tens for ResNet-200).
#pragma once

#include "sluice/planners/planner.hpp"
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
  // With `encode`, units for which it pays move encoded.
  CandidateBuilder(const PlanRequest& request, const SlowTier& slow, bool encode = false);
  CandidateBuilder(const CandidateBuilder&) = delete;
  CandidateBuilder& operator=(const CandidateBuilder&) = delete;

  Result<Candidate> build(const ScheduleOptions& options, const Forecast& forecast);

  const PlanRequest& request() const { return request_; }
  const SlowTier& slow() const { return slow_; }
  Bytes budget() const { return request_.budgets[kFastTier]; }
  const Liveness& liveness() const { return liveness_; }
  const ScheduleProblem& problem() const { return problem_; }
  const CostModel& costs() const { return costs_; }
  int encoded_units() const { return encoded_units_; }
  int built() const { return built_; }  // so far

 private:
  PlanRequest request_;
  SlowTier slow_;
  Liveness liveness_;
  std::vector<MovingUnit> units_;
  CostModel costs_;
  int encoded_units_;
  ScheduleProblem problem_;
  Bytes capacity_;
  int built_ = 0;
};

}  // namespace sluice
