// The search for the migration period (ReDL §III-D): an iterated greedy search over whole numbers of layers. It runs
// steps with one period after the other, and the placement (placement_ilp.hpp) stays the same. A round has three steps:
//
//   round r:   the best period so far, the centre + r, the centre - r
//
// The centre is the median of the number of layers. If that period breaks constraint (4), the centre is the nearest
// period that keeps it; if none does, it is one layer. A round's steps are compared only with each other, so that what
// changes from round to round (other load on the machine) decides nothing. The search ends when a period is as good as
// possible: its step takes no longer than `goal`, the time of the ops alone. Otherwise it ends after `patience` rounds
// without gain, or when no period is left to try.
//
// The rounds are kept apart from the meaning of a period, so that they can be tested with made-up step times.
#pragma once

#include <optional>
#include <vector>

#include "sluice/base/units.hpp"

namespace sluice::planners {

class PeriodRounds {
 public:
  // Periods are 1 ... longest. `patience` >= 1.
  PeriodRounds(int centre, int longest, int patience, Seconds goal);

  bool done() const { return !current_; }
  int period() const { return *current_; }  // to run the next step with; not when done()
  int best() const { return best_; }
  int rounds() const { return round_; }

  // What the step took; nothing when there is no plan for this period.
  void observe(std::optional<Seconds> seconds);

 private:
  void start_round();
  void finish_round();
  bool in_range(int period) const { return period >= 1 && period <= longest_; }

  int centre_;
  int longest_;
  int patience_;
  Seconds goal_;
  int best_;
  int round_ = 0;
  int without_gain_ = 0;
  std::vector<int> to_run_;  // of this round, the next one last
  std::optional<int> current_;
  std::optional<Seconds> best_seconds_;  // of this round
  int winner_ = 0;                       // of this round
};

}  // namespace sluice::planners
