#include "sluice/planners/redl/period_search.hpp"

#include <algorithm>

#include "sluice/base/check.hpp"

namespace sluice::planners {

namespace {
constexpr double kGain = 0.998;  // of the best one's time: less than this is noise
}

PeriodRounds::PeriodRounds(int centre, int longest, int patience, Seconds goal)
    : centre_(std::clamp(centre, 1, longest)), longest_(longest), patience_(patience), goal_(goal), best_(centre_) {
  SLUICE_CHECK(longest >= 1 && patience >= 1, "a search needs periods and patience");
  start_round();
}

// ReDL §III-D, iterated greedy: round r tries the periods r below and r above the centre against the best so far.
void PeriodRounds::start_round() {
  ++round_;
  best_seconds_.reset();
  winner_ = best_;
  to_run_.clear();
  for (const int period : {centre_ - round_, centre_ + round_}) {
    if (in_range(period)) to_run_.push_back(period);
  }
  const bool nothing_left = to_run_.empty() && round_ > 1;
  to_run_.push_back(best_);
  current_.reset();
  if (nothing_left || without_gain_ >= patience_) {
    --round_;
    return;
  }
  current_ = to_run_.back();
}

void PeriodRounds::observe(std::optional<Seconds> seconds) {
  SLUICE_CHECK(!done(), "the search is over");
  const double needed = best_seconds_ ? kGain * *best_seconds_ : 0;
  if (seconds && (!best_seconds_ || *seconds < needed)) {
    best_seconds_ = seconds;
    winner_ = *current_;
  }
  to_run_.pop_back();
  if (best_seconds_ && *best_seconds_ <= goal_) {
    best_ = winner_;
    current_.reset();
  } else if (to_run_.empty()) {
    finish_round();
  } else {
    current_ = to_run_.back();
  }
}

void PeriodRounds::finish_round() {
  without_gain_ = winner_ == best_ ? without_gain_ + 1 : 0;
  best_ = winner_;
  start_round();
}

}  // namespace sluice::planners
