#include "sluice/plan/op_choices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(OpChoices, OfTwoPlansAreComparedWhereBothRunTheOp) {
  Plan all;
  for (const OpChoice& choice : {OpChoice{0, 0}, OpChoice{1, 0}, OpChoice{0, 1}}) {
    all.ops.push_back({.implementation = choice.implementation, .processor = choice.processor});
  }
  Plan fewer = all;
  fewer.schedule = {0, 2};
  fewer.ops[1] = all.ops[2];
  fewer.ops.pop_back();
  EXPECT_TRUE(same_choices(all, fewer));
  EXPECT_TRUE(same_choices(fewer, all));
  fewer.ops[1].processor = 0;
  EXPECT_FALSE(same_choices(all, fewer));
}

TEST(OpChoices, AreThoseOfTheOpWhereverItRuns) {
  Plan plan;
  plan.planner = "by-hand";
  plan.ops = {{1, {}}, {0, {}, 1}, {1, {}}};
  plan.schedule = {2, 0, 2};  // op 2 runs twice, op 1 not at all
  EXPECT_THAT(choices_by_op(plan, 3).value(), ElementsAre(OpChoice{0, 1}, OpChoice{}, OpChoice{1, 0}));
  plan.ops[2].implementation = 0;
  EXPECT_THAT(choices_by_op(plan, 3).error().message, HasSubstr("runs op 2 in two ways"));
  EXPECT_THAT(choices_by_op(plan, 2).error().message, HasSubstr("a plan of another graph: it has an op 2"));
}

TEST(OpChoices, AreDescribedWhereThereAreAny) {
  Plan plan;
  plan.ops = {{0, {}}, {0, {}}};
  EXPECT_EQ(describe_choices(plan), "");
  plan.ops[0].implementation = 2;
  EXPECT_EQ(describe_choices(plan),
            "1 op by other kernels than the default: bits are those of fast-only with --choices-of this plan");
  plan.ops[1].processor = 1;
  EXPECT_THAT(describe_choices(plan), HasSubstr("1 op by other kernels than the default, 1 op on other processors"));
}

TEST(OpChoices, OfAnOpThatRunsAgainAreCountedOnce) {
  Plan plan;
  plan.ops = {{1, {}}, {0, {}}, {1, {}}};
  plan.schedule = {0, 1, 0};
  EXPECT_EQ(count_choices(plan).other_kernels, 1);
}

TEST(OpChoices, ThatTheGraphOrTheMachineDoesNotHaveAreRefused) {
  Graph graph;
  Op op;
  op.name = "conv";
  op.implementations = {{"direct"}, {"winograd"}};
  graph.add_op(op);
  EXPECT_TRUE(check_choices(graph, 2, {{1, 1}}).ok());
  EXPECT_THAT(check_choices(graph, 1, {{2, 0}}).error().message, HasSubstr("conv has 2 implementations"));
  EXPECT_FALSE(check_choices(graph, 1, {{-1, 0}}).ok());
  EXPECT_THAT(check_choices(graph, 1, {{0, 1}}).error().message, HasSubstr("processor 1, and there are 1"));
}

}  // namespace
}  // namespace sluice
