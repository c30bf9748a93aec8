#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/graph/rewrite/slice_dense.hpp"
#include "sluice/plan/plan_graph.hpp"
#include "sluice/planners/plan_search.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/problem_for_tests.hpp"

namespace sluice::planners {
namespace {

using ::testing::HasSubstr;

// VGG on small images: nearly all bytes are the dense layers', which follow the convolutions at the turning point of
// the step. Convolutions take `convolution` each, other ops what their bytes take.
PlanningProblem dense_problem(Seconds convolution, const std::string& slow = "file") {
  PlanningProblem problem(merged_model("vgg11", 4, 32), slow, 2e9, 40e9);
  for (graph::OpIndex op = 0; op < problem.graph.op_count(); ++op) {
    if (to_string(problem.graph.op(op).kind).starts_with("conv2d")) {
      problem.profile.op_seconds[as_index(op)] = convolution;
    }
  }
  return problem;
}

std::string deferred_of(const plan::Plan& plan) {
  for (const auto& [name, value] : plan.planner_config) {
    if (name == "deferred") return value;
  }
  return "";
}

TEST(DeferredUpdates, RunWhereTheLinkHasRoom) {
  const PlanningProblem problem = dense_problem(0.02);
  const Result<plan::Plan> sentinel = make_plan("sentinel", problem.request(0.3));
  const Result<plan::Plan> deferred = make_plan("deferred-updates", problem.request(0.3));
  ASSERT_TRUE(sentinel.ok() && deferred.ok());
  EXPECT_LT(deferred->predicted_step_seconds, 0.95 * sentinel->predicted_step_seconds);
  EXPECT_THAT(deferred_of(*deferred), HasSubstr("updates that hold at most"));
  // All run once, only updates and what makes their gradients run later than in the graph's order.
  std::vector<graph::OpIndex> sorted = deferred->schedule;
  std::ranges::sort(sorted);
  ASSERT_EQ(sorted.size(), problem.graph.ops().size());
  for (graph::OpIndex op = 0; op < problem.graph.op_count(); ++op) EXPECT_EQ(sorted[as_index(op)], op);
  graph::OpIndex furthest = -1;
  for (const graph::OpIndex op : deferred->schedule) {
    furthest = std::max(furthest, op);
    if (op == furthest) continue;
    const graph::Op& late = problem.graph.op(op);
    const bool makes_gradient = std::ranges::any_of(
        late.outputs, [&](graph::TensorId id) { return problem.graph.tensor(id).role == graph::Role::kGradient; });
    EXPECT_TRUE(graph::is_update(late.kind) || makes_gradient) << late.name;
  }
}

TEST(DeferredUpdates, NothingIsDeferredWhereItGainsNothing) {
  const PlanningProblem problem = dense_problem(0.02);
  const PlanRequest whole = problem.request(1.0);
  const Result<plan::Plan> plan = make_plan("deferred-updates", whole);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_TRUE(plan->schedule.empty());
  EXPECT_EQ(plan->migrations, make_plan("sentinel", whole)->migrations);
  EXPECT_THAT(deferred_of(*plan), HasSubstr("nothing"));
}

TEST(DeferredUpdates, StoppedAtOnceItKeepsTheGraphsOrder) {
  const PlanningProblem problem = dense_problem(0.02);
  PlanRequest request = problem.request(0.3);
  ASSERT_FALSE(make_plan("deferred-updates", request)->schedule.empty()) << "or this shows nothing";
  request.watch = std::make_shared<PlanningWatch>(PlanningWatch{.progress = {}, .stop = [] { return true; }});
  EXPECT_TRUE(make_plan("deferred-updates", request)->schedule.empty());
}

TEST(DeferredUpdates, EveryPlanOfTheTrialsKeepsTheOrder) {
  const PlanningProblem problem = dense_problem(0.02, "optane");
  const PlanRequest request = problem.request(0.3);
  const auto search = make_search("deferred-updates", request);
  ASSERT_TRUE(search.ok()) << search.error().message;
  const std::vector<graph::OpIndex> order = (*search)->plan().schedule;
  ASSERT_FALSE(order.empty());
  int steps = 0;
  while (!(*search)->done()) {
    ASSERT_LT(++steps, 1000);
    const plan::Plan& plan = (*search)->plan();
    EXPECT_EQ(plan.schedule, order);
    EXPECT_EQ(plan.graph_fingerprint, problem.graph.fingerprint());
    // Ever slower steps, and every op waits: what comes late is tried out.
    const auto slots = as_index(plan::PlanGraph(problem.graph, plan).graph().op_count());
    (*search)->observe({.seconds = 1.0 + steps, .stalls = std::vector<Seconds>(slots, 1e-3)});
  }
  EXPECT_GT(steps, 0) << "or this shows nothing";
  EXPECT_EQ((*search)->best().schedule, order);
}

// Two layers share a weight: its gradient is made twice, far apart, and updated once.
TEST(DeferredUpdates, WeightsThatLayersShareMoveWithAllThatMakesTheirGradient) {
  Result<graph::Graph> model = models::build_training_model(
      "gpt2_small", {.batch = 1, .classes = 2000, .sequence = 16, .width = 128, .depth = 2});
  ASSERT_TRUE(model.ok()) << model.error().message;
  graph::Graph graph = graph::slice_dense(*model, 256 * kKiB);
  graph::set_in_place_candidates(graph);
  graph::merge_in_place(graph);
  const PlanningProblem problem(std::move(graph), "file", 5e8, 40e9);
  const Result<plan::Plan> plan = make_plan("deferred-updates", problem.request(0.4));
  ASSERT_TRUE(plan.ok()) << plan.error().message;  // make_plan() verifies it
  ASSERT_FALSE(plan->schedule.empty()) << "or this shows nothing";
}

}  // namespace
}  // namespace sluice::planners
