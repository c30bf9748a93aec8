#include "sluice/planners/sentinel/test_and_trial.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"

namespace sluice::planners {

// The paper counts fewer than ten occurrences in each of its models.
constexpr std::size_t kMostOccurrences = 16;

TestAndTrial::TestAndTrial(std::unique_ptr<CandidateBuilder> builder, Candidate candidate, Forecast forecast,
                           std::function<void(const Candidate&, plan::Plan&)> describe)
    : builder_(std::move(builder)),
      forecast_(std::move(forecast)),
      describe_(std::move(describe)),
      best_(std::move(candidate)) {
  done_ = !builder_->any_addressable() || best_.prefetches.empty();
}

void TestAndTrial::observe(const StepObservation& observation) {
  SLUICE_CHECK(!done_, "a search that is done is not told of further steps");
  ++steps_;
  if (!trial_) {
    seen_ = observation;
  } else if (observation.seconds < seen_->seconds) {
    ++left_;
    best_ = std::move(*trial_);
    seen_ = observation;
  }
  trial_.reset();
  begin_next_trial();
}

void TestAndTrial::begin_next_trial() {
  for (const LateInterval& late : late_intervals(*builder_, best_, seen_->stalls, seen_->seconds)) {
    if (tried_.size() == kMostOccurrences) break;
    if (!tried_.insert(late.interval).second) continue;
    ScheduleOptions options = best_.options;
    options.left_out.insert(late.late.begin(), late.late.end());
    Result<Candidate> candidate = builder_->build(options, forecast_);
    if (!candidate.ok()) continue;
    trial_ = std::move(candidate).value();
    describe_(*trial_, trial_->plan);
    return;
  }
  done_ = true;
}

SearchReport TestAndTrial::report() const {
  return {.steps = steps_,
          .occasions = count_of(tried_),
          .summary = fmt::format("{} intervals waited for prefetches; in {} of them tensors stay in the slow tier",
                                 tried_.size(), left_)};
}

}  // namespace sluice::planners
