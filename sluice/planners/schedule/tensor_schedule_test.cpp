#include "sluice/planners/schedule/tensor_schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/testing/tiny_step.hpp"

namespace sluice::planners {
namespace {

using Ops = Interval<graph::OpIndex>;

// One tensor used by the given ops of a ten-op step; 'w' writes, 'r' reads, 'u' updates in place, '.' is another op.
graph::Graph step_of(graph::Role role, const std::string& uses) {
  graph::Graph graph;
  graph.layers = {"all"};
  const graph::TensorId tensor = testing::add_tiny_tensor(graph, "t", role, 4096);
  for (const char use : uses) {
    std::vector<graph::TensorId> inputs;
    std::vector<graph::TensorId> outputs;
    if (use == 'r' || use == 'u') inputs.push_back(tensor);
    if (use == 'w' || use == 'u') outputs.push_back(tensor);
    testing::add_tiny_op(graph, "op", inputs, outputs);
  }
  return graph;
}

struct Built {
  std::vector<plan::Residency> residencies;
  std::vector<plan::Migration> migrations;
  std::vector<graph::OpIndex> in_place;  // ops that find the tensor in the slow tier
};

Built build(const graph::Graph& graph, const TensorSchedule& schedule) {
  const memory::Machine machine = testing::tiny_machine();
  plan::PlanBuilder builder(graph, machine);
  add_tensor_schedule(builder, graph, graph::analyze_liveness(graph), 0, 1, schedule);
  Built built{builder.residencies(), builder.migrations(), {}};
  for (graph::OpIndex op = 0; op < graph.op_count(); ++op) {
    const std::vector<memory::TierId>& tiers = builder.placement(op).operand_tiers;
    if (std::count(tiers.begin(), tiers.end(), 1) > 0) built.in_place.push_back(op);
  }
  return built;
}

TEST(TensorSchedule, AnActivationGoesOutAfterItsTailAndComesBackInItsWindow) {
  const graph::Graph graph = step_of(graph::Role::kActivation, ".wr.....r.");
  const Built built = build(graph, {.pieces = {{.ops = {1, 5}, .first_use = 1, .last_use = 2, .evict_after = 2},
                                               {.ops = {6, 9}, .first_use = 8, .last_use = 8, .evict_after = 8}}});
  ASSERT_EQ(built.residencies.size(), 3U);
  EXPECT_EQ(built.residencies[2], (plan::Residency{.tensor = 0, .tier = 1, .offset = 0, .ops = {3, 8}}));
  EXPECT_THAT(built.migrations, ::testing::ElementsAre(plan::Migration{0, 0, 2, 2, 5}, plan::Migration{0, 2, 1, 5, 8}));
}

TEST(TensorSchedule, AParameterOnlyReadSinceTheStepBeganLeavesWithoutACopy) {
  const graph::Graph graph = step_of(graph::Role::kParameter, "..r....u..");
  const Built built = build(graph, {.pieces = {{.ops = {1, 3}, .first_use = 2, .last_use = 2, .evict_after = 2},
                                               {.ops = {5, 9}, .first_use = 7, .last_use = 7, .evict_after = 7}}});
  // Slow copy until the update, two prefetches from it, one write-back after the update.
  ASSERT_EQ(built.migrations.size(), 3U);
  EXPECT_EQ(built.residencies[built.migrations[0].from].ops, (Ops{0, 7}));
  EXPECT_EQ(built.migrations[1].from, built.migrations[0].from);
  EXPECT_EQ(built.migrations[2].issue_after, 7);
  EXPECT_EQ(built.residencies[built.migrations[2].to].ops, (Ops{8, 10}));
}

TEST(TensorSchedule, AParameterFastBetweenStepsIsWrittenOutBeforeAGap) {
  const graph::Graph graph = step_of(graph::Role::kParameter, ".r.....u..");
  const Built built = build(graph, {.fast_at_start = true,
                                    .pieces = {{.ops = {0, 3}, .first_use = 1, .last_use = 1, .evict_after = 1},
                                               {.ops = {6, 10}, .first_use = 7, .last_use = 7, .evict_after = 7}}});
  EXPECT_THAT(built.migrations, ::testing::ElementsAre(plan::Migration{0, 0, 2, 1, 3}, plan::Migration{0, 2, 1, 5, 7}));
}

TEST(TensorSchedule, WhatTheLastOpUpdatesIsWrittenBackAtTheEndOfTheStep) {
  const graph::Graph graph = step_of(graph::Role::kOptimizerState, ".........u");
  const Built built = build(graph, {.pieces = {{.ops = {8, 10}, .first_use = 9, .last_use = 9, .evict_after = 9}}});
  ASSERT_EQ(built.migrations.size(), 2U);
  EXPECT_EQ(built.migrations[1].issue_after, 9);
  EXPECT_EQ(built.migrations[1].needed_by, 10);
  EXPECT_FALSE(built.residencies[built.migrations[1].to].ops.empty());
}

TEST(TensorSchedule, AnActivationThatDoesNotComeBackIsReadWhereItLies) {
  const graph::Graph graph = step_of(graph::Role::kActivation, ".wr..r..r.");
  const Built built = build(graph, {.pieces = {{.ops = {1, 5}, .first_use = 1, .last_use = 2, .evict_after = 2}}});
  EXPECT_THAT(built.in_place, ::testing::ElementsAre(5, 8));
  EXPECT_EQ(built.residencies[1], (plan::Residency{.tensor = 0, .tier = 1, .offset = 0, .ops = {3, 9}}));
  EXPECT_THAT(built.migrations, ::testing::ElementsAre(plan::Migration{0, 0, 1, 2, 5}));
}

TEST(TensorSchedule, WhatIsReadInPlaceMayStillBePrefetchedLater) {
  const graph::Graph graph = step_of(graph::Role::kActivation, ".w..r...r.");
  const Built built = build(graph, {.pieces = {{.ops = {1, 3}, .first_use = 1, .last_use = 1, .evict_after = 1},
                                               {.ops = {6, 9}, .first_use = 8, .last_use = 8, .evict_after = 8}}});
  EXPECT_THAT(built.in_place, ::testing::ElementsAre(4));
  EXPECT_THAT(built.migrations, ::testing::ElementsAre(plan::Migration{0, 0, 2, 1, 3}, plan::Migration{0, 2, 1, 5, 8}));
}

TEST(TensorSchedule, AnActivationMayBeMadeInTheSlowTier) {
  const graph::Graph graph = step_of(graph::Role::kActivation, ".w..r...r.");
  const Built built = build(graph, {.pieces = {{.ops = {6, 9}, .first_use = 8, .last_use = 8, .evict_after = 8}}});
  EXPECT_THAT(built.in_place, ::testing::ElementsAre(1, 4));
  EXPECT_EQ(built.residencies[1].ops, (Ops{1, 8}));
  EXPECT_THAT(built.migrations, ::testing::ElementsAre(plan::Migration{0, 1, 0, 5, 8}));
}

TEST(TensorSchedule, AParameterUpdatedInPlaceIsNotWrittenBack) {
  const graph::Graph graph = step_of(graph::Role::kParameter, "..r..r.u..");
  const Built built = build(graph, {.pieces = {{.ops = {1, 3}, .first_use = 2, .last_use = 2, .evict_after = 2}}});
  EXPECT_THAT(built.in_place, ::testing::ElementsAre(5, 7));
  EXPECT_EQ(built.residencies[1].ops, (Ops{0, 10}));
  EXPECT_THAT(built.migrations, ::testing::ElementsAre(plan::Migration{0, 1, 0, 0, 2}));
}

TEST(TensorSchedule, AParameterNeedNotComeInAtAll) {
  const graph::Graph graph = step_of(graph::Role::kParameter, "..r....u..");
  const Built built = build(graph, {});
  EXPECT_THAT(built.in_place, ::testing::ElementsAre(2, 7));
  ASSERT_EQ(built.residencies.size(), 1U);
  EXPECT_EQ(built.residencies[0].ops, (Ops{0, 10}));
  EXPECT_TRUE(built.migrations.empty());
}

TEST(TensorSchedule, AlwaysFastIsTheLiveRange) {
  const graph::Graph graph = step_of(graph::Role::kActivation, "..w..r....");
  const TensorSchedule schedule = always_fast(graph::analyze_liveness(graph), 0, false);
  ASSERT_EQ(schedule.pieces.size(), 1U);
  EXPECT_EQ(schedule.pieces[0].ops, (Ops{2, 6}));
  EXPECT_TRUE(build(graph, schedule).migrations.empty());
}

}  // namespace
}  // namespace sluice::planners
