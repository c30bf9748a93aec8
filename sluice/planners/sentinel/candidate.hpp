// A way to run a step that Sentinel considers: the options it was made with, the finished plan, and what simulating the
// plan shows. Making a candidate costs a few milliseconds (tens for ResNet-200).
#pragma once

#include "sluice/planners/planner.hpp"
#include "sluice/planners/schedule/pack.hpp"
#include "sluice/planners/schedule/slow_rooms.hpp"
#include "sluice/planners/sentinel/interval_schedule.hpp"

namespace sluice::planners {

struct Candidate {
  ScheduleOptions options;
  plan::Plan plan;
  program::Program program;
  program::StepTimes timeline;
  std::vector<PrefetchKey> prefetches;  // those that the plan makes and could leave out
  std::vector<SlowTier> slow;           // by unit: where it goes when it leaves
  int encoded_units = 0;                // that it is worth encoding
  std::vector<SlowDemand> demands;      // by unit: what it takes there; empty where there is one slow tier only
};

class CandidateBuilder {
 public:
  // The builder copies `request`. What `request` refers to must outlive the builder.
  // With `encode`, units for which it pays move encoded.
  CandidateBuilder(const PlanRequest& request, const std::vector<SlowTier>& slow, bool encode = false);
  CandidateBuilder(const CandidateBuilder&) = delete;
  CandidateBuilder& operator=(const CandidateBuilder&) = delete;

  Result<Candidate> build(const ScheduleOptions& options, const Forecast& forecast);
  // The same with more capacity, if the exact search packs more into the budget than the portfolio does: a few tenths
  // of a second. Candidates built later have that capacity too, where they pack.
  std::optional<Candidate> build_tightly(const ScheduleOptions& options, const Forecast& forecast);

  const PlanRequest& request() const { return request_; }
  const std::vector<SlowTier>& slow() const { return slow_; }  // nearest first
  bool addressable(const SlowTier& slow) const { return request_.machine.tier(slow.id).addressable; }
  bool any_addressable() const;
  Bytes budget() const { return request_.budgets[memory::kFastTier]; }
  const graph::Liveness& liveness() const { return liveness_; }
  const ScheduleProblem& problem() const { return problem_; }
  const profile::CostModel& costs() const { return costs_; }
  int built() const { return built_; }  // so far

 private:
  void place_units(const ScheduleOptions& options, const std::vector<Bytes>& capacities, const Forecast& forecast);
  std::vector<SlowDemand> demands_of(const IntervalSchedule& schedule) const;
  ScheduleOptions without_unreadable(ScheduleOptions options) const;
  std::optional<plan::PlanBuilder> lay_out(const ScheduleOptions& options, const Forecast& forecast,
                                           const std::vector<Bytes>& capacities, Candidate& candidate);
  Candidate simulated(Candidate candidate, plan::Plan plan) const;

  PlanRequest request_;
  std::vector<SlowTier> slow_;
  graph::Liveness liveness_;
  std::vector<MovingUnit> units_;
  profile::CostModel costs_;
  bool encode_;
  ScheduleProblem problem_;
  plan::PlanBuilder no_schedule_;        // what every plan begins as; making one reads the whole graph
  std::vector<Bytes> capacities_;        // for the next one to begin with
  std::optional<Bytes> tight_capacity_;  // that the exact search packed
  int built_ = 0;
};

}  // namespace sluice::planners
