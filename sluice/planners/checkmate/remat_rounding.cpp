#include "sluice/planners/checkmate/remat_rounding.hpp"

#include <algorithm>

namespace sluice::planners {
namespace {

constexpr int kThresholds = 20;

struct RepeatedRun {
  int stage = 0, node = 0;
};

}  // namespace

bool fits(const RematProblem& problem, const RematRuns& runs) { return run_peak(problem, runs) <= problem.capacity; }

RematRuns without_needless_runs(const RematProblem& problem, RematRuns runs) {
  std::vector<RepeatedRun> repeated;
  for (int stage = 0; stage < problem.stages(); ++stage) {
    for (int node = 0; node < stage; ++node) {
      if (runs[stage][node]) repeated.push_back({stage, node});
    }
  }
  std::ranges::stable_sort(repeated, std::ranges::greater(),
                           [&](const RepeatedRun& run) { return problem.nodes[run.node].again; });
  for (const RepeatedRun& run : repeated) {
    runs[run.stage][run.node] = false;
    if (!fits(problem, runs)) runs[run.stage][run.node] = true;
  }
  return runs;
}

std::optional<RematRuns> round_kept(const RematProblem& problem, const RematProgram& program,
                                    const std::vector<double>& relaxed) {
  std::optional<RematRuns> best;
  for (int i = 1; i < kThresholds; ++i) {
    RematRuns runs = least_runs(problem, program.kept_of(relaxed, static_cast<double>(i) / kThresholds));
    if (!fits(problem, runs)) continue;
    if (!best || run_seconds(problem, runs) < run_seconds(problem, *best)) best = std::move(runs);
  }
  if (best) best = without_needless_runs(problem, std::move(*best));
  return best;
}

std::optional<RematRuns> runs_by_leaving_out(const RematProblem& problem) {
  RematRuns runs = no_repetitions(problem);
  for (int stage = 0; stage < problem.stages(); ++stage) {
    for (int node = 0; node < stage; ++node) runs[stage][node] = problem.may_run(stage, node);
  }
  if (!fits(problem, runs)) return std::nullopt;
  return without_needless_runs(problem, std::move(runs));
}

}  // namespace sluice::planners
