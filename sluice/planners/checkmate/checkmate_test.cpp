#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/planners/checkmate/node_grouping.hpp"
#include "sluice/planners/checkmate/remat_rounding.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/problem_for_tests.hpp"
#include "sluice/testing/random/random_graph.hpp"

namespace sluice::planners {
namespace {

constexpr double kSolverTolerance = 1e-6;  // relative, of solvers

struct ListedRun {
  int stage = 0, node = 0;
};

// The most memory, by the life of each copy of each value: from the run that makes it to the last one that reads it
// before the next that makes it.
Bytes enumerated_peak(const RematProblem& problem, const std::vector<ListedRun>& runs) {
  std::vector<Bytes> used(runs.size(), problem.always);
  for (std::size_t at = 0; at < runs.size(); ++at) used[at] += problem.nodes[runs[at].node].beside;
  for (const RematValue& value : problem.values) {
    std::vector<std::size_t> made, read;
    for (std::size_t at = 0; at < runs.size(); ++at) {
      const bool first = runs[at].stage == runs[at].node;
      if (runs[at].node == value.node && (first || !value.made_once)) made.push_back(at);
      const bool reads = std::ranges::find(value.readers, runs[at].node) != value.readers.end();
      if (reads && (runs[at].node != value.node || !first)) read.push_back(at);
    }
    for (std::size_t copy = 0; copy < made.size(); ++copy) {
      const std::size_t end = copy + 1 < made.size() ? made[copy + 1] : runs.size();
      std::size_t last = made[copy];
      for (const std::size_t at : read) last = at > made[copy] && at <= end && at < runs.size() ? at : last;
      for (std::size_t at = made[copy] + 1; at <= last; ++at) used[at] += value.bytes;
    }
  }
  return *std::ranges::max_element(used);
}

// Every matrix of runs, one after the other.
class EveryRuns {
 public:
  explicit EveryRuns(const RematProblem& problem) : problem_(problem) {
    for (int stage = 0; stage < problem.stages(); ++stage) {
      for (int node = 0; node < stage; ++node) {
        if (stage <= problem.nodes[node].last_run) repeatable_.push_back({stage, node});
      }
    }
  }

  std::size_t bits() const { return repeatable_.size(); }

  // The shortest step that fits; nothing where none does.
  std::optional<Seconds> optimum() const {
    std::optional<Seconds> best;
    for (std::uint64_t set = 0; set < std::uint64_t{1} << repeatable_.size(); ++set) {
      Seconds seconds = problem_.once;
      std::vector<ListedRun> runs;
      for (std::size_t i = 0; i < repeatable_.size(); ++i) {
        if (((set >> i) & 1) == 0) continue;
        runs.push_back(repeatable_[i]);
        seconds += problem_.nodes[repeatable_[i].node].again;
      }
      if (best && seconds >= *best) continue;
      for (int node = 0; node < problem_.stages(); ++node) runs.push_back({node, node});
      std::ranges::sort(runs, {}, [](const ListedRun& run) { return std::pair(run.stage, run.node); });
      if (enumerated_peak(problem_, runs) <= problem_.capacity) best = seconds;
    }
    return best;
  }

 private:
  const RematProblem& problem_;
  std::vector<ListedRun> repeatable_;
};

std::vector<ListedRun> listed_runs(const RematRuns& runs) {
  std::vector<ListedRun> list;
  for (int stage = 0; stage < count_of(runs); ++stage) {
    for (int node = 0; node <= stage; ++node) {
      if (runs[stage][node]) list.push_back({stage, node});
    }
  }
  return list;
}

// A capacity `share` of the way from what running everything again in every stage needs to what the given order does.
RematProblem with_capacity(RematProblem problem, double share) {
  RematRuns all = no_repetitions(problem);
  for (int stage = 0; stage < problem.stages(); ++stage) {
    for (int node = 0; node < stage; ++node) all[stage][node] = problem.may_run(stage, node);
  }
  const Bytes most = run_peak(problem, no_repetitions(problem));
  const Bytes least = std::min(most, run_peak(problem, all));
  problem.capacity = least + static_cast<Bytes>(share * static_cast<double>(most - least));
  return problem;
}

// Few nodes, so that all can be enumerated.
struct SmallRematStep {
  explicit SmallRematStep(std::uint64_t seed)
      : graph(testing::random_graph(seed, {.most_layers = 3})),
        planning(graph, "optane", 1e9),
        request(planning.request(1.0)) {
    int nodes = 12;
    do {
      step = group_into_nodes(request, nodes--);
    } while (EveryRuns(step.problem).bits() > 14 && nodes > 2);
  }

  graph::Graph graph;
  PlanningProblem planning;
  PlanRequest request;
  GroupedStep step;
};

TEST(CheckmateProgram, FindsWhatEnumerationFinds) {
  int repeating = 0, infeasible = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const SmallRematStep small(seed);
    for (const double share : {-0.3, 0.0, 0.3, 0.7}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", share " + std::to_string(share));
      const RematProblem problem = with_capacity(small.step.problem, share);
      const std::optional<Seconds> optimum = EveryRuns(problem).optimum();
      const RematProgram program(problem);
      const IlpSolution solution =
          solve(program.ilp(), {.seconds = 100, .nodes = 1'000'000, .columns = 1000, .dives = 0, .gap = 0});
      ASSERT_EQ(solution.values.empty(), !optimum);
      if (!optimum) {
        EXPECT_EQ(solution.status, SolveStatus::kInfeasible);
        ++infeasible;
        continue;
      }
      const RematRuns runs = program.runs_of(solution.values);
      EXPECT_NEAR(run_seconds(problem, runs), *optimum, kSolverTolerance * *optimum);
      EXPECT_NEAR(solution.bound * program.seconds_per_unit(), *optimum, kSolverTolerance * *optimum);
      EXPECT_EQ(run_peak(problem, runs), enumerated_peak(problem, listed_runs(runs)));
      EXPECT_TRUE(fits(problem, runs));
      EXPECT_LT(program.ilp().violation(program.values_of(runs)), kSolverTolerance);
      repeating += *optimum > problem.once * (1 + kSolverTolerance) ? 1 : 0;
    }
  }
  EXPECT_GE(repeating, 40) << "or this shows nothing";
  EXPECT_GE(infeasible, 10);
}

TEST(CheckmateRounding, FitsAndIsNeverBelowTheRelaxation) {
  int rounded_ones = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const graph::Graph graph = testing::random_graph(seed);
    const PlanningProblem planning(graph, "optane", 1e9);
    const GroupedStep step = group_into_nodes(planning.request(1.0), 24);
    for (const double share : {0.0, 0.3, 0.7}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", share " + std::to_string(share));
      const RematProblem problem = with_capacity(step.problem, share);
      const RematProgram program(problem);
      const LpSolution relaxed = solve_relaxation(program.ilp(), 100);
      const std::optional<RematRuns> left = runs_by_leaving_out(problem);
      if (relaxed.status == SolveStatus::kInfeasible) {
        EXPECT_FALSE(left.has_value());
        continue;
      }
      for (const std::optional<RematRuns>& runs : {left, round_kept(problem, program, relaxed.values)}) {
        if (!runs) continue;
        ++rounded_ones;
        EXPECT_LE(enumerated_peak(problem, listed_runs(*runs)), problem.capacity);
        EXPECT_LT(program.ilp().violation(program.values_of(*runs)), kSolverTolerance);
        EXPECT_GE(run_seconds(problem, *runs), relaxed.cost * program.seconds_per_unit() * (1 - kSolverTolerance));
      }
    }
  }
  EXPECT_GE(rounded_ones, 100);
}

// Three nodes and one that reads the first value again: 0 may run again, or not.
RematProblem chain_of_three(bool first_may_run_again) {
  RematProblem problem;
  problem.once = 4;
  problem.nodes.assign(4, {.again = 1, .beside = 10, .last_run = 3});
  problem.nodes[0].last_run = first_may_run_again ? 3 : 0;
  problem.values = std::vector<RematValue>{{.bytes = 10, .node = 0, .readers = {1, 3}},
                                           {.bytes = 10, .node = 1, .readers = {2}},
                                           {.bytes = 10, .node = 2, .readers = {3}}};
  for (int value = 0; value < 3; ++value) {
    problem.nodes[value].makes = {value};
    for (const int reader : problem.values[value].readers) problem.nodes[reader].reads.push_back(value);
  }
  find_last_runs(problem);
  return problem;
}

TEST(CheckmateProgram, KeepsWhatMayNotRunAgain) {
  for (const bool again : {true, false}) {
    SCOPED_TRACE(again);
    RematProblem problem = chain_of_three(again);
    problem.capacity = 30;
    EXPECT_EQ(run_peak(problem, no_repetitions(problem)), 30);
    problem.nodes[2].beside = 20;  // then 0's value is too much while 2 runs
    const RematProgram program(problem);
    const IlpSolution solution = solve(program.ilp(), {.gap = 0});
    ASSERT_EQ(solution.values.empty(), !again);
    if (!again) continue;
    const RematRuns runs = program.runs_of(solution.values);
    EXPECT_TRUE(runs[3][0]);
    EXPECT_EQ(run_seconds(problem, runs), 5);
  }
}

TEST(CheckmateProgram, KeepsWhatIsMissingAndCannotBeMadeAgain) {
  const RematProblem problem = chain_of_three(false);
  const RematKept nothing(5, IdVector<int, bool>(3, false));
  const RematRuns runs = least_runs(problem, nothing);
  EXPECT_TRUE(runs[2][1]) << "which has nothing to read but what stays";
  EXPECT_FALSE(runs[2][0]);
  EXPECT_TRUE(least_kept(problem, runs)[3][0]);
}

// Whatever the nodes, orders are those that the verifier accepts (make_plan throws where it does not).
TEST(CheckmatePlanner, PutsNeighboursTogetherAsItIsTold) {
  int repeating = 0;
  const PlanningProblem problem(merged_model("resnet20", 8, 32), "file", 1e9);
  for (const char* planner : {"checkmate:nodes=12:exact=0", "checkmate:nodes=24:exact=0"}) {
    for (const double share : {0.6, 0.8}) {
      const Result<plan::Plan> plan = make_plan(planner, problem.request(share));
      if (!plan.ok()) continue;
      EXPECT_TRUE(plan->migrations.empty());
      repeating += plan->schedule.size() > problem.graph.ops().size() ? 1 : 0;
    }
  }
  EXPECT_GE(repeating, 2);
}

TEST(CheckmatePlanner, SaysHowFarFromItsBoundItIs) {
  const PlanningProblem problem(merged_model("resnet20", 8, 32), "file", 1e9);
  const plan::Plan plan = make_plan("checkmate", problem.request(0.7)).value();
  const auto config = [&](std::string_view name) {
    const auto found = std::ranges::find(plan.planner_config, name, &std::pair<std::string, std::string>::first);
    return found == plan.planner_config.end() ? -1 : std::stod(found->second);
  };
  EXPECT_GT(config("expected_seconds_at_least"), 0);
  EXPECT_GE(config("expected_seconds"), config("expected_seconds_at_least"));
  EXPECT_NEAR(config("expected_seconds"), plan.predicted_step_seconds, 1e-5);
  EXPECT_GE(config("gap_percent"), 0);
}

}  // namespace
}  // namespace sluice::planners
