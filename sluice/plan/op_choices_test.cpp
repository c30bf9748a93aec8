#include "sluice/plan/op_choices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// x > a > b, and b made once more for `end`.
graph::Graph relu_made_twice() {
  graph::Graph graph;
  const auto tensor = [&](const char* name) {
    return graph.add_tensor({.name = name, .shape = {16}, .role = graph::Role::kActivation});
  };
  const graph::TensorId x = tensor("x"), a = tensor("a"), b = tensor("b"), again = tensor("b.again"),
                        end = tensor("end");
  graph.add_op({.name = "a", .kind = graph::OpKind::kUnary, .inputs = {x}, .outputs = {a}});
  graph.add_op({.name = "b", .kind = graph::OpKind::kRelu, .inputs = {a}, .outputs = {b}});
  graph.add_op({.name = "b.again", .kind = graph::OpKind::kRelu, .inputs = {a}, .outputs = {again}});
  graph.add_op({.name = "end", .kind = graph::OpKind::kUnary, .inputs = {again}, .outputs = {end}});
  return graph;
}

Plan plan_of(const std::vector<graph::OpChoice>& by_slot, std::vector<graph::OpIndex> schedule = {}) {
  Plan plan;
  plan.planner = "by-hand";
  for (const graph::OpChoice& choice : by_slot) {
    plan.ops.push_back({.implementation = choice.implementation, .processor = choice.processor});
  }
  plan.schedule = std::move(schedule);
  return plan;
}

TEST(OpChoices, OfAnOpLeftOutAreThoseOfTheOneThatMadeTheSame) {
  const graph::Graph graph = relu_made_twice();
  const Plan fewer = plan_of({{0, 0}, {0, 1}, {1, 0}}, {0, 1, 3});
  EXPECT_THAT(choices_by_op(fewer, graph).value(),
              ElementsAre(graph::OpChoice{0, 0}, graph::OpChoice{0, 1}, graph::OpChoice{0, 1}, graph::OpChoice{1, 0}));
  EXPECT_TRUE(same_choices(fewer, plan_of({{0, 0}, {0, 1}, {0, 1}, {1, 0}}), graph));
  EXPECT_FALSE(same_choices(fewer, plan_of({{0, 0}, {0, 1}, {0, 0}, {1, 0}}), graph)) << "made again elsewhere";
  EXPECT_FALSE(same_choices(fewer, plan_of({{0, 0}, {0, 1}, {0, 1}, {0, 0}}), graph));
}

TEST(OpChoices, AreThoseOfTheOpWhereverItRuns) {
  const graph::Graph graph = relu_made_twice();
  Plan plan = plan_of({{1, 0}, {0, 1}, {0, 0}, {0, 0}, {1, 0}}, {0, 1, 2, 3, 0});
  EXPECT_EQ(choices_by_op(plan, graph)->front(), (graph::OpChoice{1, 0}));
  plan.ops[4].implementation = 0;
  EXPECT_THAT(choices_by_op(plan, graph).error().message, HasSubstr("runs op 0 in two ways"));
  plan.schedule[4] = 4;
  EXPECT_THAT(choices_by_op(plan, graph).error().message, HasSubstr("a plan of another graph: it has an op 4"));
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
  graph::Graph graph;
  graph::Op op;
  op.name = "conv";
  op.implementations = {{"direct"}, {"winograd"}};
  graph.add_op(op);
  EXPECT_TRUE(check_choices(graph, 2, {{1, 1}}).ok());
  EXPECT_THAT(check_choices(graph, 1, {{2, 0}}).error().message, HasSubstr("conv has 2 implementations"));
  EXPECT_FALSE(check_choices(graph, 1, {{-1, 0}}).ok());
  EXPECT_THAT(check_choices(graph, 1, {{0, 1}}).error().message, HasSubstr("processor 1, and there are 1"));
}

}  // namespace
}  // namespace sluice::plan
