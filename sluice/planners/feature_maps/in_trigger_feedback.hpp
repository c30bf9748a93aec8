// Capuchin's corrections while training runs (Peng et al., ASPLOS 2020): what comes back too late is fetched earlier in the
// next step, by 5 % of what its copy takes, again and again.
//
//   in-trigger     |<- 5 % ->|
//   fetch                    [-------- copy --------)
//   reader                                    ^ waits: it is late
//
// Late is what is fetched for an op that waited in the step that was observed. All that are late are moved at once, until
// their triggers fall to earlier ops: else the plan would be the same one.
//
// It ends when nothing is late, when triggers cannot be moved any more, or when no step was faster for a while; then the
// fastest plan observed is kept (the paper goes on for ever). A correction costs one plan, milliseconds to tenths of a second.
#pragma once

#include <vector>

#include "sluice/planners/feature_maps/feature_maps.hpp"
#include "sluice/planners/plan_search.hpp"

namespace sluice::planners {

class InTriggerFeedback final : public PlanSearch {
 public:
  // `first`: the plan of `decided`. `fetch_seconds`: of each map's copy in. What `request` refers to must outlive this
  // object. At most `most_steps` are observed.
  InTriggerFeedback(const PlanRequest& request, FeatureMapPlan decided, std::vector<Seconds> fetch_seconds,
                    plan::Plan first, int most_steps);

  const plan::Plan& plan() const override { return done_ ? best_ : next_; }
  bool done() const override { return done_; }
  void observe(const StepObservation& observation) override;
  const plan::Plan& best() const override { return best_; }
  SearchReport report() const override;

 private:
  std::vector<std::size_t> late_maps(const std::vector<Seconds>& stalls) const;  // stalls: by op of next_
  bool move_triggers(const std::vector<std::size_t>& late);
  void describe(plan::Plan& plan) const;

  const PlanRequest request_;
  FeatureMapPlan decided_;
  std::vector<Seconds> fetch_seconds_;  // by map
  plan::Plan next_, best_;
  int most_steps_;
  int steps_ = 0, corrections_ = 0, since_better_ = 0;
  Seconds first_seconds_ = 0, best_seconds_ = 0;
  bool done_ = false;
};

}  // namespace sluice::planners
