// Case 3 by test and trial (Sentinel §IV-D): where an interval has to wait for its prefetches, one step goes on with
// the migration, another step leaves those tensors in the slow tier, and the faster way is kept. At most two steps for
// each occurrence; the step that goes on with the migration is the one that showed the occurrence, or the last one
// kept.
//
// This is only for slow tiers that ops can address. With other tiers an op can only wait (§V), and the search is done
// at once.
#pragma once

#include <memory>
#include <optional>
#include <set>

#include "sluice/planners/plan_search.hpp"
#include "sluice/planners/sentinel/left_in_slow.hpp"

namespace sluice::planners {

class TestAndTrial : public PlanSearch {
 public:
  // `candidate`: what the offline search chose, made by `builder`. `describe`: adds what a plan says about itself.
  TestAndTrial(std::unique_ptr<CandidateBuilder> builder, Candidate candidate, Forecast forecast,
               std::function<void(const Candidate&, plan::Plan&)> describe);

  const plan::Plan& plan() const override { return trial_ ? trial_->plan : best_.plan; }
  bool done() const override { return done_; }
  void observe(const StepObservation& observation) override;
  const plan::Plan& best() const override { return best_.plan; }
  SearchReport report() const override;

 private:
  void begin_next_trial();

  std::unique_ptr<CandidateBuilder> builder_;
  Forecast forecast_;
  std::function<void(const Candidate&, plan::Plan&)> describe_;
  Candidate best_;
  std::optional<StepObservation> seen_;  // of best_
  std::optional<Candidate> trial_;
  std::set<int> tried_;  // intervals
  int steps_ = 0;
  int left_ = 0;  // occurrences where leaving the tensors was faster
  bool done_ = false;
};

}  // namespace sluice::planners
