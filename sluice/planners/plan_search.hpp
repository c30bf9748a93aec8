// Planning that goes on while training runs: a planner proposes a plan, the caller runs a step with it and says how
// long it took, and so on until the planner has made up its mind (Sentinel §IV-D, test and trial; ReDL §III-D, the
// iterated greedy search for the period).
//
// Who runs the steps is the caller's business: training runs real ones, settle_in_simulation() simulated ones. Every
// proposed plan is complete, but not yet verified. One caller at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sluice/planners/planner.hpp"

namespace sluice::planners {

// What running a step showed about its plan.
struct StepObservation {
  Seconds seconds = 0;
  std::vector<Seconds> stalls;  // by OpIndex: what each op waited for transfers
};

// What a search has cost and found out so far: Sentinel's table III.
struct SearchReport {
  int steps = 0;        // observed
  int occasions = 0;    // for a trial: occurrences of case 3, rounds of the greedy search
  std::string summary;  // in words: "period 7 of 34 layers after 3 rounds"
};

class PlanSearch {
 public:
  virtual ~PlanSearch() = default;

  // The plan for the next step. When done(), the plan to keep: the best so far, even when the search was given up
  // half-way.
  virtual const plan::Plan& plan() const = 0;
  virtual bool done() const = 0;

  // Tells the search what the step with plan() took. Afterwards plan() may be another one. Must not be called when
  // done().
  virtual void observe(const StepObservation& observation) = 0;

  // The best of the plans observed so far; the first plan when none was observed yet.
  virtual const plan::Plan& best() const = 0;

  virtual SearchReport report() const = 0;
};

// Simulates the step of each plan proposed until the search is done, and returns the plan to keep.
plan::Plan settle_in_simulation(PlanSearch& search, const PlanRequest& request);

}  // namespace sluice::planners
