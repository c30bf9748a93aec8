#include "sluice/planners/checkmate/remat_problem.hpp"

#include <algorithm>
#include <functional>

#include "sluice/base/as_index.hpp"

namespace sluice::planners {
namespace {

// Visits the runs from the last to the first, with what is read later of what is there: `visit(stage, node, alive,
// bytes)`, before the node's own values are taken away; and `begin(stage, alive)` where a stage begins.
class BackwardsThroughRuns {
 public:
  BackwardsThroughRuns(const RematProblem& problem, const RematRuns& runs)
      : problem_(problem), runs_(runs), alive_(problem.values.size(), false) {}

  void go(const std::function<void(int, const IdVector<int, bool>&)>& begin) {
    for (int stage = problem_.stages() - 1; stage >= 0; --stage) {
      for (int node = stage; node >= 0; --node) {
        if (runs_[stage][node]) undo(stage, node);
      }
      begin(stage, alive_);
    }
  }
  Bytes peak() const { return peak_; }
  Bytes over_capacity() const { return over_; }

 private:
  void undo(int stage, int node) {
    for (const int value : problem_.nodes[node].makes) {
      if (problem_.makes(stage, value)) set(value, false);
    }
    for (const int value : problem_.nodes[node].reads) {
      const bool own = problem_.values[value].node == node;
      if (!own || stage > node) set(value, true);
    }
    const Bytes used = problem_.always + bytes_ + problem_.nodes[node].beside;
    peak_ = std::max(peak_, used);
    over_ += std::max<Bytes>(0, used - problem_.capacity);
  }

  void set(int value, bool alive) {
    if (alive_[value] == alive) return;
    alive_[value] = alive;
    bytes_ += alive ? problem_.values[value].bytes : -problem_.values[value].bytes;
  }

  const RematProblem& problem_;
  const RematRuns& runs_;
  IdVector<int, bool> alive_;  // by value: somebody reads it later
  Bytes bytes_ = 0;            // of what is alive
  Bytes peak_ = 0;
  Bytes over_ = 0;  // the capacity, summed over runs
};

// One attempt at least_runs(): false where something had to be kept that was not.
class LeastRuns {
 public:
  LeastRuns(const RematProblem& problem, RematKept& kept) : problem_(problem), kept_(kept) {}

  bool find() {
    runs_ = no_repetitions(problem_);
    for (int stage = 0; stage < problem_.stages(); ++stage) {
      for (int value = 0; value < count_of(problem_.values); ++value) {
        if (kept_[stage + 1][value] && !kept_[stage][value] && !want(stage, value)) return false;
      }
      for (int node = stage; node >= 0; --node) {
        if (runs_[stage][node] && !want_operands(stage, node)) return false;
      }
    }
    return true;
  }
  RematRuns take() && { return std::move(runs_); }

 private:
  bool want_operands(int stage, int node) {
    return std::ranges::all_of(problem_.nodes[node].reads, [&](int value) {
      const bool own_first = problem_.values[value].node == node && stage == node;
      return own_first || kept_[stage][value] || want(stage, value);
    });
  }

  bool want(int stage, int value) {
    const int node = problem_.values[value].node;
    if (stage < node) return true;  // nobody has it yet
    if (problem_.makes(stage, value)) return runs_[stage][node] = true;
    for (int before = stage; before > node; --before) kept_[before][value] = true;
    return false;
  }

  const RematProblem& problem_;
  RematKept& kept_;
  RematRuns runs_;
};

}  // namespace

void find_last_runs(RematProblem& problem) {
  for (int node = problem.stages() - 1; node >= 0; --node) {
    RematNode& each = problem.nodes[node];
    int last = node;
    for (const int value : each.makes) {
      RematValue& made = problem.values[value];
      for (const int reader : made.readers) {
        if (reader != node) made.last_need = std::max(made.last_need, problem.nodes[reader].last_run);
      }
      if (!made.made_once) last = std::max(last, made.last_need);
    }
    each.last_run = std::min(each.last_run, last);
    for (const int value : each.makes) {
      RematValue& made = problem.values[value];
      if (std::ranges::find(made.readers, node) != made.readers.end()) {
        made.last_need = std::max(made.last_need, each.last_run);
      }
    }
  }
}

RematRuns no_repetitions(const RematProblem& problem) {
  RematRuns runs(problem.nodes.size(), IdVector<int, bool>(problem.nodes.size(), false));
  for (int stage = 0; stage < problem.stages(); ++stage) runs[stage][stage] = true;
  return runs;
}

Seconds run_seconds(const RematProblem& problem, const RematRuns& runs) {
  Seconds seconds = problem.once;
  for (int stage = 0; stage < problem.stages(); ++stage) {
    for (int node = 0; node < stage; ++node) seconds += runs[stage][node] ? problem.nodes[node].again : 0;
  }
  return seconds;
}

RematKept least_kept(const RematProblem& problem, const RematRuns& runs) {
  RematKept kept(problem.nodes.size() + 1, IdVector<int, bool>(problem.values.size(), false));
  BackwardsThroughRuns(problem, runs).go([&](int stage, const IdVector<int, bool>& alive) { kept[stage] = alive; });
  return kept;
}

Bytes run_peak(const RematProblem& problem, const RematRuns& runs) {
  BackwardsThroughRuns backwards(problem, runs);
  backwards.go([](int, const IdVector<int, bool>&) {});
  return backwards.peak();
}

Bytes bytes_over_capacity(const RematProblem& problem, const RematRuns& runs) {
  BackwardsThroughRuns backwards(problem, runs);
  backwards.go([](int, const IdVector<int, bool>&) {});
  return backwards.over_capacity();
}

RematRuns least_runs(const RematProblem& problem, RematKept kept) {
  LeastRuns attempt(problem, kept);
  while (!attempt.find()) {
  }
  return std::move(attempt).take();
}

}  // namespace sluice::planners
