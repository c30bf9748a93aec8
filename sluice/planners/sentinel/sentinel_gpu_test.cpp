// Sentinel as published where ops must find everything in fast memory (Sentinel-GPU, section V), and the three ways to
// trigger migration of figure 13.
#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/planners/plan_search.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/problem_for_tests.hpp"
#include "sluice/planners/schedule/intervals.hpp"
#include "sluice/planners/schedule/moving_units.hpp"
#include "sluice/planners/sentinel/short_lived_pool.hpp"
#include "sluice/program/program.hpp"
#include "sluice/sim/simulator.hpp"
#include "sluice/testing/program_oracle.hpp"
#include "sluice/testing/random/random_graph.hpp"

namespace sluice::planners {
namespace {

const std::string kPublished = "sentinel:additions=none";
const std::string kOnIntervals = kPublished + ":migration=intervals";
const std::string kDirectly = kPublished + ":migration=direct";

std::string says(const plan::Plan& plan, const std::string& key) {
  for (const auto& [name, value] : plan.planner_config) {
    if (name == key) return value;
  }
  ADD_FAILURE() << "no " << key;
  return "";
}

struct SimulatedStep {
  SimulatedStep(const PlanningProblem& problem, const plan::Plan& plan)
      : program(program::lower_plan(problem.graph, problem.machine, plan).value()),
        times(sim::simulate(program, profile::CostModel(problem.graph, problem.profile, problem.machine))) {}

  program::Program program;
  program::StepTimes times;
};

// Ops that find an operand elsewhere than in fast memory.
int ops_with_slow_operands(const program::Program& program) {
  return static_cast<int>(std::ranges::count_if(program.compute, [](const program::ComputeInstruction& op) {
    return std::ranges::any_of(op.operands,
                               [](const program::Location& each) { return each.tier != memory::kFastTier; });
  }));
}

// Migrations of tensors that live within one layer.
int short_lived_moves(const PlanningProblem& problem, const plan::Plan& plan) {
  const graph::Liveness liveness = graph::analyze_liveness(problem.graph);
  return static_cast<int>(std::ranges::count_if(
      plan.migrations, [&](const plan::Migration& each) { return liveness.short_lived[each.tensor]; }));
}

// How many of the two planners that move this way have a plan; plans are verified, and run in an order that might break
// them.
int count_right_plans(const PlanningProblem& problem, const std::string& way, std::uint64_t seed) {
  int accepted = 0;
  for (const std::string& planner : {"sentinel:migration=" + way, kPublished + ":migration=" + way}) {
    SCOPED_TRACE(planner);
    const Result<plan::Plan> plan = make_plan(planner, problem.request(0.7));
    if (!plan.ok()) {
      EXPECT_TRUE(wants_more_room(plan.error().code)) << plan.error().message;
      continue;
    }
    ++accepted;
    const program::Program program = program::lower_plan(problem.graph, problem.machine, *plan).value();
    EXPECT_EQ(testing::find_race(problem.graph, program, seed), std::nullopt);
    if (!problem.machine.tier(1).addressable) {
      EXPECT_EQ(ops_with_slow_operands(program), 0);
    }
  }
  return accepted;
}

// Also on a tier that ops can address, where late prefetches may be left out.
TEST(SentinelGpu, EveryWayIsRightOnRandomGraphs) {
  int accepted = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (const char* slow : {seed % 2 == 0 ? "pcie3" : "file", "optane"}) {
      const PlanningProblem problem(testing::random_graph(seed), slow, 1e9);
      for (const char* way : {"all", "intervals", "direct"}) accepted += count_right_plans(problem, way, seed);
    }
  }
  EXPECT_GE(accepted, 120);
}

TEST(SentinelGpu, WaitsForEveryLateCopyWithoutATrial) {
  const PlanningProblem problem(merged_model("resnet32", 16, 32), "pcie3", 5e8);  // far too slow for the step
  const PlanRequest request = problem.request(0.4);
  const plan::Plan plan = make_plan(kPublished, request).value();
  EXPECT_EQ(says(plan, "prefetches_left_out"), "0");
  const SimulatedStep step(problem, plan);
  EXPECT_EQ(ops_with_slow_operands(step.program), 0);
  EXPECT_GT(std::ranges::count_if(step.times.stalls, [](Seconds each) { return each > 0; }), 10);
  const auto search = make_search(kPublished, request).value();
  ASSERT_NE(search, nullptr);
  EXPECT_TRUE(search->done()) << "it would try to do without";
  EXPECT_EQ(search->report().steps, 0);
}

TEST(SentinelGpu, EachDirectionHasAStreamOfItsOwn) {
  const PlanningProblem problem(merged_model("resnet50", 4, 64), "pcie3", 2e9);
  const plan::Plan plan = make_plan(kPublished, problem.request(0.4)).value();
  const SimulatedStep step(problem, plan);
  const memory::LinkId inward = problem.machine.link_between(1, memory::kFastTier).value();
  const memory::LinkId outward = problem.machine.link_between(memory::kFastTier, 1).value();
  ASSERT_NE(inward, outward);
  int together = 0;
  for (std::size_t i = 0; i < step.program.transfers.size(); ++i) {
    const program::TransferInstruction& transfer = step.program.transfers[i];
    const bool comes = transfer.to.tier == memory::kFastTier;
    EXPECT_EQ(transfer.link, comes ? inward : outward);
    if (!comes) continue;
    for (const program::TransferIndex other : step.program.lanes[as_index(outward)]) {
      const program::Span& in = step.times.transfers[i];
      const program::Span& out = step.times.transfers[as_index(other)];
      together += in.begin < out.end && out.begin < in.end ? 1 : 0;
    }
  }
  EXPECT_GT(together, 0) << "neither waits for the other";
}

// The space of section IV-C: from each interval's begin, as large as the most that short-lived tensors will still take.
TEST(SentinelGpu, KeepsThePoolFreeOfEverythingElse) {
  const PlanningProblem problem(merged_model("resnet32", 16, 32), "pcie3", 2e9);
  const graph::Liveness liveness = graph::analyze_liveness(problem.graph);
  const PlanRequest request = problem.request(0.4);
  const auto ops_without_pool = [&](const std::string& planner) {
    const plan::Plan plan = make_plan(planner, request).value();
    EXPECT_EQ(short_lived_moves(problem, plan), 0);
    const IntervalCut cut = cut_into_intervals(liveness, std::stoi(says(plan, "interval_length")));
    ReservationTable table(problem.graph.op_count(), request.budgets[memory::kFastTier]);
    for (const plan::Residency& each : plan.residencies) {
      if (each.tier == memory::kFastTier) table.reserve(each.ops, problem.graph.tensor(each.tensor).bytes);
    }
    reserve_idle_pool(find_moving_units(problem.graph, liveness), cut, table);
    int without = 0;
    for (graph::OpIndex op = 0; op < problem.graph.op_count(); ++op)
      without += table.used(op) > table.capacity() ? 1 : 0;
    return without;
  };
  EXPECT_EQ(ops_without_pool(kPublished), 0);
  EXPECT_GT(ops_without_pool("sentinel:additions=lending"), 0) << "or this shows nothing";
}

TEST(SentinelGpu, DirectMigrationFollowsTheNextLayer) {
  const PlanningProblem problem(merged_model("resnet32", 16, 32), "pcie3", 2e9);
  const PlanRequest request = problem.request(0.4);
  const plan::Plan direct = make_plan(kDirectly, request).value();
  EXPECT_EQ(says(direct, "migration"), "direct");
  EXPECT_GT(std::stoi(says(make_plan(kOnIntervals, request).value(), "interval_length")), 1);
  const graph::Liveness liveness = graph::analyze_liveness(problem.graph);
  int in = 0;
  for (const plan::Migration& each : direct.migrations) {
    if (direct.residencies[each.to].tier != memory::kFastTier || each.needed_by == problem.graph.op_count()) continue;
    ++in;
    EXPECT_GE(liveness.span_of_op[each.issue_after + 1] + 1, liveness.span_of_op[each.needed_by]) << "too early";
  }
  EXPECT_GT(in, 0);
}

// Figure 13: each part gains, where short-lived tensors of 256 KiB or more compete for room.
TEST(SentinelGpu, EachPartOfItGains) {
  const PlanningProblem problem(merged_model("resnet110", 32, 32), "pcie3", 1e9);
  for (const double share : {0.2, 0.3}) {
    SCOPED_TRACE(share);
    const plan::Plan direct = make_plan(kDirectly, problem.request(share)).value();
    const plan::Plan intervals = make_plan(kOnIntervals, problem.request(share)).value();
    const plan::Plan all = make_plan(kPublished, problem.request(share)).value();
    EXPECT_LT(intervals.predicted_step_seconds, direct.predicted_step_seconds);
    EXPECT_LT(all.predicted_step_seconds, intervals.predicted_step_seconds);
    EXPECT_GT(short_lived_moves(problem, intervals), 0);
    EXPECT_EQ(short_lived_moves(problem, all), 0);
    EXPECT_EQ(says(all, "interval_length"), says(intervals, "interval_length")) << "they differ by nothing else";
  }
}

// Figure 5: whoever names a length gets it, allowed by equation 1 or not, and what is longer than the step is one interval.
TEST(SentinelGpu, TakesTheIntervalThatIsNamed) {
  const PlanningProblem problem(merged_model("resnet32", 16, 32), "optane", 1e10);
  for (const std::string& planner : {kPublished, std::string("sentinel")}) {
    for (const char* length : {"1", "3", "16", "1000"}) {
      SCOPED_TRACE(planner + ":interval=" + length);
      const plan::Plan plan = make_plan(planner + ":interval=" + length, problem.request(0.3)).value();
      EXPECT_EQ(says(plan, "interval_length"), length);
      EXPECT_EQ(says(plan, "intervals") == "1", length == std::string("1000"));
    }
  }
  const plan::Plan chosen = make_plan(kPublished, problem.request(0.3)).value();
  const plan::Plan named = make_plan(kPublished + ":interval=0", problem.request(0.3)).value();
  EXPECT_EQ(says(named, "interval_length"), says(chosen, "interval_length")) << "0 leaves it to the equations";
}

// The pool holds room that nobody uses; where short-lived tensors would not have moved anyway, it only costs.
TEST(SentinelGpu, LosesByItsPoolWhatLendingGivesBack) {
  const PlanningProblem problem(merged_model("resnet50", 32, 32), "pcie3", 1e9);
  const PlanRequest request = problem.request(0.2);
  const plan::Plan intervals = make_plan(kOnIntervals, request).value();
  EXPECT_EQ(short_lived_moves(problem, intervals), 0) << "or the pool might be worth it";
  const Seconds lent = make_plan("sentinel:additions=lending", request)->predicted_step_seconds;
  EXPECT_LT(lent, 0.99 * make_plan(kPublished, request)->predicted_step_seconds);
  EXPECT_LE(lent, intervals.predicted_step_seconds);
}

}  // namespace
}  // namespace sluice::planners
