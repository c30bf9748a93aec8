// What became of a run's plan while its steps ran: one record, whoever decides (watched_training.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sluice/plan/plan.hpp"
#include "sluice/planners/plan_search.hpp"
#include "sluice/sim/drift.hpp"

namespace sluice::train {

// By what the plan of a run is decided.
enum class PlanRule {
  kStays,       // nothing: the run obeys what it began with
  kTrials,      // steps measured with each plan that a planner's search proposes
  kReplanning,  // predictions by figures of the machine as its steps show it
};

// An occasion on which another plan was sought, or was to run.
struct PlanChange {
  enum class Outcome { kSought, kLeft, kTaken };

  std::int64_t step = 0;  // the last one before it
  Outcome outcome = Outcome::kSought;
  Seconds change_seconds = 0;  // outside all steps; 0: the plan stayed
  std::string failure;         // why there is no plan, or why it could not be started; empty: none

  // Of replanning alone.
  bool estimated = false;        // the figures before were estimates
  sim::Drift drift;              // since the figures before
  Seconds planning_seconds = 0;  // beside the training
  Seconds present_seconds = 0;   // predicted of the plan that ran, by the new figures
  Seconds new_seconds = 0;       // of the plan sought

  bool taken() const { return outcome == Outcome::kTaken; }
};

struct TriedPlan {
  plan::Plan plan;
  std::vector<Seconds> steps;  // that were observed
};

struct PlanRecord {
  PlanRule rule = PlanRule::kStays;
  std::vector<PlanChange> changes;
  std::int64_t warmup_steps = 0;  // run for steps to observe, but not observed

  // Of trials alone: Sentinel's table III.
  std::vector<TriedPlan> plans;  // in the order of their first steps; the first is what the session began with
  std::size_t running = 0;       // of these
  std::size_t kept = 0;          // of these: the best so far
  int profiling_steps = 0;       // before the run: one where accesses were given, to count them
  std::int64_t trial_steps = 0;  // observed
  bool complete = false;         // the search has made up its mind; else it was cut short, or is under way
  planners::SearchReport search;
};

}  // namespace sluice::train
