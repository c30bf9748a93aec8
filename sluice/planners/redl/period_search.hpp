// The search for the migration period (ReDL §III-D): an iterated greedy search, in whole layers, by steps that are run
// with one period after the other. Three steps a round, with the data where they always are (placement_ilp.hpp):
//
//   round r:   the best period so far, the centre + r, the centre - r
//
// The centre is the median of the number of layers, or, where that one breaks constraint (4), the nearest that keeps
// it; where none does, one layer. A round's steps are compared with each other only, so that what changes from round to
// round (other load on the machine) decides nothing. The search ends when a period is as good as can be: its step takes
// no longer than `goal`, what the ops take alone; else after `patience` rounds without gain.
//
// The rounds are apart from what a period means, so that they can be tested with made-up step times.
#pragma once

#include <optional>
#include <vector>

#include "sluice/base/units.hpp"

namespace sluice {

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

}  // namespace sluice
