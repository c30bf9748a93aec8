#include "sluice/planners/checkmate/remat_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sluice/base/as_index.hpp"
#include "sluice/base/interval.hpp"
#include "sluice/planners/checkmate/remat_rounding.hpp"

namespace sluice::planners {
namespace {

constexpr int kTwiceForgotten = 2;

using TimesForgotten = IdVector<int, int>;  // by value: 0 to kTwiceForgotten

// The step in which values are forgotten and made again when they are missed.
class RematStep {
 public:
  RematStep(const RematProblem& problem, const IdVector<int, Interval<int>>& gaps, const TimesForgotten& forgotten)
      : problem_(problem), gaps_(gaps), forgotten_(forgotten), present_(problem.values.size(), false) {}

  // Nothing where something is missing that cannot be made again.
  std::optional<RematRuns> run() {
    runs_ = no_repetitions(problem_);
    for (int stage = 0; stage < problem_.stages(); ++stage) {
      if (!run_node(stage, stage)) return std::nullopt;
      for (int value = 0; value < count_of(problem_.values); ++value) {
        const bool first = stage == gaps_[value].begin;
        const bool again = forgotten_[value] == kTwiceForgotten && gaps_[value].contains(stage);
        if (forgotten_[value] > 0 && (first || again)) present_[value] = false;
      }
    }
    return std::move(runs_);
  }

 private:
  bool run_node(int stage, int node) {
    runs_[stage][node] = true;
    for (const int value : problem_.nodes[node].reads) {
      const bool own_first = problem_.values[value].node == node && stage == node;
      if (present_[value] || own_first) continue;
      if (!problem_.makes(stage, value) || !run_node(stage, problem_.values[value].node)) return false;
    }
    for (const int value : problem_.nodes[node].makes)
      present_[value] = present_[value] || problem_.makes(stage, value);
    return true;
  }

  const RematProblem& problem_;
  const IdVector<int, Interval<int>>& gaps_;
  const TimesForgotten& forgotten_;
  IdVector<int, bool> present_;  // by value
  RematRuns runs_;
};

class RematSearch {
 public:
  RematSearch(const RematProblem& problem, double trade)
      : problem_(problem), trade_(trade), forgotten_(problem.values.size(), 0) {
    for (const RematValue& value : problem.values) gaps_.push_back(longest_gap(value));
    state_ = *evaluate();
  }

  std::optional<RematRuns> search() {
    while (state_.over > 0) {
      if (!forget_best() && !forget_all()) return std::nullopt;
    }
    remember_dearest();
    return without_needless_runs(problem_, state_.runs);
  }

 private:
  struct State {
    RematRuns runs;
    Bytes over = 0;
    Seconds seconds = 0;
  };

  // From the stage after which nobody reads it for long, to the one that reads it then.
  static Interval<int> longest_gap(const RematValue& value) {
    Interval<int> longest{value.node, value.node};
    int before = value.node;
    for (const int reader : value.readers) {
      if (reader - before > longest.end - longest.begin) longest = {before, reader};
      before = reader;
    }
    return longest;
  }

  std::optional<State> evaluate() const {
    std::optional<RematRuns> runs = RematStep(problem_, gaps_, forgotten_).run();
    if (!runs) return std::nullopt;
    const Bytes over = bytes_over_capacity(problem_, *runs);
    const Seconds seconds = run_seconds(problem_, *runs);
    return State{std::move(*runs), over, seconds};
  }

  bool can_be_forgotten(int value) const {
    const RematValue& each = problem_.values[value];
    const bool long_enough = gaps_[value].end - gaps_[value].begin > 1;
    return long_enough && !each.made_once && problem_.may_run(gaps_[value].end, each.node) &&
           forgotten_[value] < kTwiceForgotten;
  }

  bool forget_best() {
    int best = -1;
    double most = 0;
    State found;
    for (int value = 0; value < count_of(problem_.values); ++value) {
      if (!can_be_forgotten(value)) continue;
      ++forgotten_[value];
      std::optional<State> tried = evaluate();
      --forgotten_[value];
      if (!tried || tried->over >= state_.over) continue;
      const double saved = static_cast<double>(state_.over - tried->over);
      const double ratio = std::pow(saved, trade_) / std::max(1e-12, tried->seconds - state_.seconds);
      if (best >= 0 && ratio <= most) continue;
      best = value;
      most = ratio;
      found = std::move(*tried);
    }
    if (best < 0) return false;
    ++forgotten_[best];
    state_ = std::move(found);
    return true;
  }

  // Where no single value helps. False where that is still too much.
  bool forget_all() {
    for (int value = 0; value < count_of(problem_.values); ++value) {
      if (can_be_forgotten(value)) forgotten_[value] = kTwiceForgotten;
    }
    std::optional<State> tried = evaluate();
    if (!tried || tried->over > 0) return false;
    state_ = std::move(*tried);
    return true;
  }

  void remember_dearest() {
    std::vector<int> order;
    for (int value = 0; value < count_of(problem_.values); ++value) {
      if (forgotten_[value] > 0) order.push_back(value);
    }
    std::ranges::stable_sort(order, std::ranges::greater(),
                             [&](int value) { return problem_.nodes[problem_.values[value].node].again; });
    for (const int value : order) {
      const int times = forgotten_[value];
      for (int fewer = 0; fewer < times; ++fewer) {
        forgotten_[value] = fewer;
        std::optional<State> tried = evaluate();
        if (tried && tried->over == 0 && tried->seconds < state_.seconds) {
          state_ = std::move(*tried);
          break;
        }
        forgotten_[value] = times;
      }
    }
  }

  const RematProblem& problem_;
  double trade_;
  IdVector<int, Interval<int>> gaps_;
  TimesForgotten forgotten_;
  State state_;
};

}  // namespace

std::optional<RematRuns> search_remat_runs(const RematProblem& problem, double trade) {
  return RematSearch(problem, trade).search();
}

}  // namespace sluice::planners
