// AutoTM's planners: what each kind of movement does, what the solver says, and plans that hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/operand_shares.hpp"
#include "sluice/planners/ilp/integer_program.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/problem_for_tests.hpp"

namespace sluice::planners {
namespace {

double number_of(const plan::Plan& plan, const std::string& key) {
  for (const auto& [name, value] : plan.planner_config) {
    if (name == key) return std::stod(value);
  }
  ADD_FAILURE() << "no " << key;
  return 0;
}

TEST(AutoTm, StaticTensorsNeverMove) {
  const PlanningProblem problem(merged_model("resnet20", 8, 32), "optane", 2e9);
  const auto plan = make_plan("autotm-static", problem.request(0.3));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_TRUE(plan->migrations.empty());
  std::vector<int> residencies(problem.graph.tensors().size(), 0);
  for (const plan::Residency& each : plan->residencies) ++residencies[as_index(each.tensor)];
  EXPECT_THAT(residencies, ::testing::Each(::testing::Le(1)));
  const plan::OperandShares shares = plan::operand_shares(problem.graph, *plan);
  EXPECT_GT(shares.inputs, 0);
  EXPECT_LT(shares.inputs, 1);
  EXPECT_LT(shares.outputs, 1);
}

TEST(AutoTm, SynchronousMovesStandBesideTheOpsThatUseTheTensor) {
  for (const std::string slow : {"optane", "file"}) {
    const PlanningProblem problem(merged_model("resnet20", 8, 32), slow, slow == "optane" ? 2e10 : 2e9);
    const auto plan = make_plan("autotm-sync", problem.request(0.4));
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_FALSE(plan->migrations.empty());
    const graph::Liveness liveness = graph::analyze_liveness(problem.graph);
    const auto uses = [&](graph::TensorId tensor, graph::OpIndex op) {
      return std::ranges::find(liveness.uses[tensor], op, &graph::Use::op) != liveness.uses[tensor].end();
    };
    for (const plan::Migration& each : plan->migrations) {
      EXPECT_EQ(each.needed_by, each.issue_after + 1) << "beside nothing";
      const bool comes = plan->residencies[each.to].tier == memory::kFastTier;
      const bool alone = plan->blocks.empty();  // of a block each is moved for any of them
      EXPECT_TRUE(!alone || uses(each.tensor, comes ? each.needed_by : each.issue_after));
    }
  }
}

TEST(AutoTm, AsynchronousMovesRunBesideOneOp) {
  const PlanningProblem problem(merged_model("resnet20", 8, 32), "pcie3", 8e9);
  const auto plan = make_plan("autotm-async", problem.request(0.4));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  int in_beside = 0, out_beside = 0;
  for (const plan::Migration& each : plan->migrations) {
    EXPECT_LE(each.needed_by, each.issue_after + 2);
    if (each.needed_by == each.issue_after + 1) continue;
    ++(plan->residencies[each.to].tier == memory::kFastTier ? in_beside : out_beside);
  }
  EXPECT_GT(in_beside, 0);
  EXPECT_GT(out_beside, 0);
}

// More freedom costs nothing, up to the solver's gap of 1 %.
TEST(AutoTm, WhatMayMoveMoreExpectsNoMore) {
  for (const double share : {0.2, 0.5}) {
    const PlanningProblem problem(merged_model("resnet20", 8, 32), "optane", 4e9);
    const auto fixed = make_plan("autotm-static", problem.request(share));
    const auto moved = make_plan("autotm-sync", problem.request(share));
    const auto beside = make_plan("autotm-async", problem.request(share));
    ASSERT_TRUE(fixed.ok() && moved.ok() && beside.ok());
    const auto expected = [](const Result<plan::Plan>& plan) { return number_of(*plan, "expected_seconds"); };
    EXPECT_LE(expected(moved), expected(fixed) * 1.01);
    EXPECT_LE(expected(beside), expected(moved) * 1.01);
    for (const auto* plan : {&fixed, &moved, &beside}) {
      EXPECT_LE(number_of(**plan, "expected_seconds_at_least"), expected(*plan));
    }
    for (const auto* plan : {&fixed, &moved}) {
      EXPECT_GE(number_of(**plan, "expected_seconds_at_least"), expected(*plan) * 0.99);
    }
  }
}

// Nothing overlaps but what leaves and what comes at one moment, which the program counts one after the other.
TEST(AutoTm, TheExpectedStepIsTheSimulatedOne) {
  const PlanningProblem problem(merged_model("resnet20", 8, 32), "file", 2e9);
  const auto plan = make_plan("autotm-sync", problem.request(0.4));
  ASSERT_TRUE(plan.ok());
  EXPECT_LE(plan->predicted_step_seconds, number_of(*plan, "expected_seconds"));
  EXPECT_GE(plan->predicted_step_seconds, number_of(*plan, "expected_seconds") * 0.97);
}

// A node's memory is not stitched: what fits by the byte may not pack, and is solved again with lower limits.
TEST(AutoTm, WhatDoesNotPackIsSolvedAgain) {
  for (const double share : {0.4, 0.5}) {
    PlanningProblem problem(merged_model("mobilenet_v2", 2, 64), "file", 2e9);
    problem.machine.tiers.front().kind = memory::TierKind::kNuma;
    const auto plan = make_plan("autotm-sync", problem.request(share));
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_LE(plan->arena_bytes[memory::kFastTier], plan->budgets[memory::kFastTier]);
    EXPECT_GT(number_of(*plan, "solved"), 1) << "or this shows nothing";
  }
}

// What a user sets reaches the solver.
TEST(AutoTm, SettingsDecideWhenTheSolverIsDone) {
  const PlanningProblem problem(merged_model("resnet20", 8, 32), "optane", 4e9);
  for (const auto& [settings, status] : {std::pair{"gap=0.5", "within"},
                                         {"gap=0:columns=1", "rounded relaxation"},
                                         {"gap=0:nodes=0:threads=2:seed=3:cuts=0", "node limit"},
                                         {"seconds=0.001", "time limit"}}) {
    const std::string planner = "autotm-sync:" + std::string(settings);
    const auto plan = make_plan(planner, problem.request(0.3));
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_THAT(plan->solver_status, ::testing::StartsWith(status)) << settings;
    EXPECT_EQ(plan->planner, planner);
  }
}

// Whoever does not wait gets a plan nevertheless, and hears how far the solver was.
TEST(AutoTm, WhoStopsItGetsTheBestPlanSoFar) {
  const PlanningProblem problem(merged_model("resnet20", 8, 32), "file", 2e9);
  PlanRequest request = problem.request(0.4);
  int programs = 0;
  Seconds last = 0;
  request.watch = std::make_shared<const PlanningWatch>(
      PlanningWatch{.stop = [] { return true; },
                    .program = [&](const IntegerProgram& program) { programs += program.rows.empty() ? 0 : 1; },
                    .solving = [&](double, Seconds incumbent, Seconds) { last = incumbent; }});
  const auto stopped = make_plan("autotm-sync", request);
  ASSERT_TRUE(stopped.ok()) << stopped.error().message;
  EXPECT_THAT(stopped->solver_status, ::testing::StartsWith("stopped"));
  EXPECT_EQ(programs, 1);
  const auto waited = make_plan("autotm-sync", problem.request(0.4));
  EXPECT_GT(number_of(*stopped, "expected_seconds"), number_of(*waited, "expected_seconds"));
  request.watch = std::make_shared<const PlanningWatch>(
      PlanningWatch{.solving = [&](double, Seconds incumbent, Seconds) { last = incumbent; }});
  ASSERT_TRUE(make_plan("autotm-sync", request).ok());
  EXPECT_NEAR(last, number_of(*waited, "expected_seconds"), 1e-5);
}

}  // namespace
}  // namespace sluice::planners
