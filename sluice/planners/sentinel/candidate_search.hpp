// Sentinel's offline search: lengths that satisfy equation 1, best first by equation 2, are turned into whole plans and
// *simulated*; then the free room kept for migrations and the prefetch order are chosen the same way, the clock is
// refined by planning again with what the simulation showed, and prefetches that cost more than using the tensor in
// place are left out. Late prefetches are then a matter of trials (test_and_trial.hpp).
//
// Each part is one of our additions (sentinel_additions.hpp). Without them, the equations' best length is one candidate,
// and it is taken.
#pragma once

#include <optional>
#include <vector>

#include "sluice/planners/sentinel/candidate.hpp"
#include "sluice/planners/sentinel/sentinel_additions.hpp"

namespace sluice::planners {

// What equations 1 and 2 say of intervals of that length in the builder's budget.
IntervalEstimate estimate_candidate(const CandidateBuilder& builder, const IntervalCut& cut);

// What the builder refers to must outlive the search, and so must the builder. One thread.
class CandidateSearch {
 public:
  CandidateSearch(CandidateBuilder& builder, bool ahead)
      : builder_(builder),
        ahead_(ahead),
        forecast_(forecast_compute(builder.problem().graph, builder.costs())),
        used_(forecast_) {}

  Status run();
  bool good_enough() const;
  // Begins with what another search found: whatever replaces it is faster.
  void begin_with(const ScheduleOptions& options, const Forecast& forecast) { try_options(options, forecast); }
  void pack_tightly();
  Seconds seconds() const { return best_->timeline.step_seconds; }
  Candidate take_best() { return std::move(*best_); }
  const Forecast& forecast() const { return used_; }  // that the best candidate was made with

 private:
  static constexpr double kClearlyFaster = 0.999;  // of the best one's time

  ScheduleOptions plain_options() const;
  std::vector<int> promising_lengths();
  Status find_first();
  void choose_length();
  void choose_headroom();
  void choose_order();
  void refine_forecast();
  void place_by_price();
  void leave_out_dear_prefetches();
  bool try_options(const ScheduleOptions& options, const Forecast& forecast, double needed = kClearlyFaster);
  bool try_options(const ScheduleOptions& options) { return try_options(options, forecast_); }
  bool has(SentinelAddition addition) const { return builder_.request().additions.has(addition); }

  CandidateBuilder& builder_;
  bool ahead_;  // prefetches may begin before the interval before
  Forecast forecast_;
  Forecast used_;
  std::optional<Candidate> best_;
  std::optional<Error> failure_;
};

}  // namespace sluice::planners
