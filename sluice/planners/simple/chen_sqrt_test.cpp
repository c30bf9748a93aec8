#include <gtest/gtest.h>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/autodiff/autodiff.hpp"
#include "sluice/graph/builder/builder.hpp"
#include "sluice/plan/plan_graph.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/problem_for_tests.hpp"
#include "sluice/planners/schedule/checkpoints.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"

namespace sluice::planners {
namespace {

// Residual blocks without norms whose sum is written over the block's input: x, relu(x), conv, x += conv. Then layers
// that follow each other. What is made again may overwrite the last sum, which lay there ready for the first of these.
graph::Graph sums_in_place(int blocks, int layers) {
  graph::GraphBuilder builder("sums");
  builder.begin_layer("input");
  graph::TensorId x = builder.input(4, 8, 8, 8, 10);
  for (int i = 0; i < blocks; ++i) {
    builder.begin_layer("block" + std::to_string(i));
    const graph::TensorId inner = builder.conv2d(builder.relu(x), {.out_channels = 8, .kernel = 3, .padding = 1});
    x = builder.add(x, inner);
  }
  for (int i = 0; i < layers; ++i) {
    builder.begin_layer("layer" + std::to_string(i));
    x = builder.conv2d(builder.relu(x), {.out_channels = 8, .kernel = 3, .padding = 1});
  }
  builder.begin_layer("head");
  builder.softmax_cross_entropy(builder.dense(builder.global_avg_pool(x), 10));
  graph::Graph graph = graph::build_training_graph(builder.finish().value(), {});
  graph::set_in_place_candidates(graph);
  graph::merge_in_place(graph);
  return graph;
}

TEST(ChenSqrt, MakesAgainWhatItsOwnRepetitionsOverwrite) {
  for (int blocks = 2; blocks <= 8; ++blocks) {
    for (int layers = 0; layers <= 12; ++layers) {
      SCOPED_TRACE(std::to_string(blocks) + " blocks, " + std::to_string(layers) + " layers");
      const PlanningProblem problem(sums_in_place(blocks, layers), "file", 1e9);
      const Result<plan::Plan> plan = make_plan("chen-sqrt", problem.request(1.2));  // verifies it
      ASSERT_TRUE(plan.ok()) << plan.error().message;
    }
  }
}

TEST(ChenSqrt, KeepsCheckpointsOfASquareRootOfTheLayers) {
  const PlanningProblem problem(merged_model("plain20", 8, 32), "file", 1e9);
  const Result<plan::Plan> plan = make_plan("chen-sqrt", problem.request(1.0));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  std::vector<int> runs(problem.graph.ops().size(), 0);
  for (const graph::OpIndex op : plan->schedule) ++runs[as_index(op)];
  EXPECT_LE(*std::ranges::max_element(runs), 2);
  std::size_t again = 0;
  std::size_t forward = 0;
  for (graph::OpIndex op = 0; op < problem.graph.op_count(); ++op) {
    const bool repeated = runs[as_index(op)] > 1;
    if (problem.graph.op(op).phase == graph::Phase::kForward) ++forward;
    EXPECT_TRUE(!repeated || problem.graph.op(op).phase == graph::Phase::kForward) << problem.graph.op(op).name;
    again += repeated ? 1 : 0;
  }
  EXPECT_GT(again, forward / 2);
  EXPECT_LT(plan->arena_bytes[memory::kFastTier], fast_only_bytes(problem.graph) * 3 / 4);
}

// The last segment is kept; with a segment for all there is no other.
TEST(Checkpoints, OfOneSegmentMakeNothingAgain) {
  const graph::Graph graph = models::build_training_model("resnet20", {.batch = 2, .image_size = 8}).value();
  const auto all = static_cast<double>(forward_spans(graph));
  EXPECT_EQ(std::ssize(schedule_with_checkpoints(graph, all, "test").value()), graph.op_count());
  EXPECT_GT(std::ssize(schedule_with_checkpoints(graph, all / 4, "test").value()), graph.op_count());
}

}  // namespace
}  // namespace sluice::planners
