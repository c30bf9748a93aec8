// Planners of feature maps: what they take for one, and what they do with each.
#include "sluice/planners/feature_maps/feature_maps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/plan_graph.hpp"
#include "sluice/planners/registry/advice.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/problem_for_tests.hpp"

namespace sluice::planners {
namespace {

using ::testing::HasSubstr;

// Ops that run more than once.
std::set<graph::OpIndex> repeated_ops(const plan::Plan& plan) {
  std::set<graph::OpIndex> once, again;
  for (const graph::OpIndex op : plan.schedule) (once.insert(op).second ? once : again).insert(op);
  return again;
}

std::set<graph::TensorId> moved_tensors(const plan::Plan& plan, const graph::Graph& graph) {
  std::set<graph::TensorId> moved;
  for (const plan::Migration& each : plan.migrations) {
    EXPECT_LT(each.tensor, graph.tensor_count()) << "what is made again does not move";
    moved.insert(each.tensor);
  }
  return moved;
}

TEST(FeatureMaps, AreWrittenInTheForwardPassAndReadInTheBackwardPass) {
  const graph::Graph graph = merged_model("resnet20", 8, 32);
  const graph::Liveness liveness = graph::analyze_liveness(graph);
  const std::vector<FeatureMap> maps = find_feature_maps(graph, liveness);
  EXPECT_GT(maps.size(), 20U);
  for (const FeatureMap& map : maps) {
    EXPECT_EQ(graph.op(map.writer).phase, graph::Phase::kForward);
    EXPECT_EQ(graph.op(map.last_forward_use).phase, graph::Phase::kForward);
    EXPECT_NE(graph.op(map.first_backward_use).phase, graph::Phase::kForward);
    EXPECT_LE(map.writer, map.last_forward_use);
    EXPECT_FALSE(graph::is_persistent(graph.tensor(map.tensor).role));
  }
}

TEST(Vdnn, SwapsInputsOfConvolutionsAndWaitsAtTheEndOfALayer) {
  const PlanningProblem problem(merged_model("plain20", 8, 32), "file", 2e9);
  const Result<plan::Plan> plan = make_plan("vdnn", problem.request(1.5));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const plan::PlanGraph step(problem.graph, *plan);
  const graph::Liveness liveness = graph::analyze_liveness(step.graph());
  std::set<graph::TensorId> inputs;
  for (const graph::Op& op : problem.graph.ops()) {
    if (op.kind == graph::OpKind::kConv2d) inputs.insert(op.inputs.front());
  }
  EXPECT_GT(plan->migrations.size(), 20U);
  for (const plan::Migration& each : plan->migrations) {
    EXPECT_TRUE(inputs.contains(each.tensor)) << problem.graph.tensor(each.tensor).name;
    const bool leaves = plan->residencies[each.to].tier != memory::kFastTier;
    // Beside one op; or beside a layer, at whose end compute waits.
    if (leaves) {
      EXPECT_LE(each.needed_by - each.issue_after, 2);
    }
    if (!leaves) {
      const int layer = liveness.span_of_op[each.needed_by];
      EXPECT_EQ(each.needed_by, liveness.spans[layer].ops.begin);
    }
  }
  const Result<plan::Plan> all = make_plan("vdnn:all=1", problem.request(1.5));
  ASSERT_TRUE(all.ok()) << all.error().message;
  EXPECT_GT(moved_tensors(*all, problem.graph).size(), moved_tensors(*plan, problem.graph).size());
}

TEST(Vdnn, HasNothingToSwapWithoutConvolutions) {
  const PlanningProblem problem(merged_model("lstm", 4, 0), "file", 2e9);
  const Result<plan::Plan> plan = make_plan("vdnn", problem.request(0.7));
  ASSERT_FALSE(plan.ok());
  EXPECT_TRUE(wants_more_room(plan.error().code));
  EXPECT_THAT(advised("vdnn", problem.request(0.7), plan.error()).message, HasSubstr("the smallest budget it can use"));
}

TEST(SuperNeurons, SwapsConvolutionsAndMakesCheapLayersAgain) {
  const PlanningProblem problem(merged_model("resnet20", 8, 32), "file", 2e9);
  const Result<plan::Plan> plan = make_plan("superneurons", problem.request(1));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_FALSE(plan->migrations.empty());
  EXPECT_FALSE(repeated_ops(*plan).empty());
  for (const graph::OpIndex op : repeated_ops(*plan)) EXPECT_NE(problem.graph.op(op).kind, graph::OpKind::kConv2d);
  std::set<graph::TensorId> made_by_convolutions;
  for (const graph::Op& op : problem.graph.ops()) {
    if (op.kind == graph::OpKind::kConv2d) made_by_convolutions.insert(op.outputs.begin(), op.outputs.end());
  }
  for (const graph::TensorId id : moved_tensors(*plan, problem.graph)) EXPECT_TRUE(made_by_convolutions.contains(id));
}

TEST(Capuchin, DoesAsLittleAsFits) {
  const PlanningProblem problem(merged_model("resnet20", 8, 32), "file", 2e9);
  const Result<plan::Plan> whole = make_plan("capuchin", problem.request(2));
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  EXPECT_TRUE(whole->migrations.empty());
  EXPECT_TRUE(repeated_ops(*whole).empty());
  EXPECT_LT(whole->schedule.size(), problem.graph.ops().size()) << "nothing is made again as the graph does";
  Seconds before = 0;
  for (const double share : {0.9, 0.7, 0.6}) {
    const Result<plan::Plan> plan = make_plan("capuchin", problem.request(share));
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_GT(plan->migrations.size() + repeated_ops(*plan).size(), 0U);
    EXPECT_GT(plan->predicted_step_seconds, before * 0.99) << share;
    before = plan->predicted_step_seconds;
  }
}

// Where copies take longer than ops, it is making again that costs less.
TEST(Capuchin, ChoosesByWhatCostsLess) {
  const PlanningProblem slow_link(merged_model("resnet20", 8, 32), "file", 1e8);
  const PlanningProblem fast_link(merged_model("resnet20", 8, 32), "file", 1e11);
  const Result<plan::Plan> with_slow = make_plan("capuchin", slow_link.request(1));
  const Result<plan::Plan> with_fast = make_plan("capuchin", fast_link.request(1));
  ASSERT_TRUE(with_slow.ok()) << with_slow.error().message;
  ASSERT_TRUE(with_fast.ok()) << with_fast.error().message;
  EXPECT_GT(repeated_ops(*with_slow).size(), 0U);
  EXPECT_TRUE(repeated_ops(*with_fast).empty());
  EXPECT_FALSE(with_fast->migrations.empty());
}

}  // namespace
}  // namespace sluice::planners
