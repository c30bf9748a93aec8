#include "sluice/graph/autodiff/autodiff.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/builder/builder.hpp"
#include "sluice/graph/builder/validate.hpp"
#include "sluice/graph/liveness.hpp"

namespace sluice::graph {
namespace {

std::vector<std::string> kinds_from(const Graph& graph, OpIndex begin) {
  std::vector<std::string> kinds;
  for (OpIndex i = begin; i < graph.op_count(); ++i) kinds.emplace_back(to_string(graph.op(i).kind));
  return kinds;
}

bool contains(const std::vector<TensorId>& ids, TensorId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

Graph chain() {
  GraphBuilder builder("chain");
  builder.begin_layer("input");
  TensorId x = builder.input(2, 3, 8, 8, 10);
  builder.begin_layer("conv1");
  x = builder.batch_norm(builder.conv2d(x, {.out_channels = 4, .kernel = 3}), Activation::kRelu);
  builder.begin_layer("conv2");
  x = builder.relu(builder.conv2d(x, {.out_channels = 4, .kernel = 3, .bias = true}));
  builder.begin_layer("pool");
  x = builder.global_avg_pool(builder.max_pool(x, {}));
  builder.begin_layer("fc");
  builder.softmax_cross_entropy(builder.dense(x, 10));
  return std::move(builder.finish()).value();
}

// x feeds a convolution and a residual add, whose sum feeds another such block.
Graph residual() {
  GraphBuilder builder("residual");
  builder.begin_layer("input");
  TensorId x = builder.input(2, 4, 8, 8, 10);
  builder.begin_layer("stem");
  x = builder.conv2d(x, {.out_channels = 4});
  for (const char* layer : {"block1", "block2"}) {
    builder.begin_layer(layer);
    x = builder.add(builder.batch_norm(builder.conv2d(x, {.out_channels = 4})), x, Activation::kRelu);
  }
  builder.begin_layer("fc");
  builder.softmax_cross_entropy(builder.dense(x, 10));
  return std::move(builder.finish()).value();
}

TEST(Autodiff, RunsBackwardInReverseWithUpdatesRightAfterGradients) {
  const Graph forward = chain();
  const Graph graph = build_training_graph(forward, {});
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  EXPECT_EQ(
      kinds_from(graph, forward.op_count()),
      (std::vector<std::string>{"softmax_cross_entropy_backward", "dense_backward_data", "dense_backward_weights",
                                "sgd_update", "sgd_update", "avg_pool_backward", "max_pool_backward", "relu_backward",
                                "conv2d_backward_data", "batch_norm_apply", "conv2d_backward_weights", "sgd_update",
                                "sgd_update", "batch_norm_backward", "sgd_update",
                                // no gradient of the images
                                "conv2d_backward_weights", "sgd_update"}));
}

TEST(Autodiff, LeavesTheForwardOpsAsTheyWere) {
  const Graph forward = chain();
  const Graph graph = build_training_graph(forward, {});
  for (OpIndex i = 0; i < forward.op_count(); ++i) {
    EXPECT_EQ(graph.op(i).inputs, forward.op(i).inputs);
    EXPECT_EQ(graph.op(i).outputs, forward.op(i).outputs);
    EXPECT_EQ(graph.op(i).phase, Phase::kForward);
  }
}

TEST(Autodiff, KeepsLayersAndMarksPhases) {
  const Graph graph = build_training_graph(chain(), {});
  const Liveness liveness = analyze_liveness(graph);
  std::vector<std::string> spans;
  for (const LayerSpan& span : liveness.spans) {
    spans.push_back((span.backward ? "-" : "+") + graph.layers[as_index(span.layer)]);
  }
  EXPECT_EQ(spans, (std::vector<std::string>{"+input", "+conv1", "+conv2", "+pool", "+fc", "-fc", "-pool", "-conv2",
                                             "-conv1"}));
  for (const Op& op : graph.ops()) EXPECT_EQ(op.kind == OpKind::kSgdUpdate, op.phase == Phase::kUpdate) << op.name;
}

TEST(Autodiff, UpdatesEveryParameterOnceAndNobodyReadsItAfterwards) {
  for (const Graph& graph : {build_training_graph(chain(), {}), build_training_graph(residual(), {})}) {
    for (TensorId id = 0; id < graph.tensor_count(); ++id) {
      if (graph.tensor(id).role != Role::kParameter) continue;
      int updates = 0;
      for (const Op& op : graph.ops()) {
        EXPECT_FALSE(updates > 0 && contains(op.inputs, id)) << op.name;
        if (op.kind == OpKind::kSgdUpdate && op.inputs[0] == id) ++updates;
      }
      EXPECT_EQ(updates, 1) << graph.tensor(id).name;
    }
  }
}

TEST(Autodiff, MakesParameterGradientsShortLived) {
  const Graph graph = build_training_graph(residual(), {});
  const Liveness liveness = analyze_liveness(graph);
  int gradients = 0;
  for (TensorId id = 0; id < graph.tensor_count(); ++id) {
    if (graph.tensor(id).role != Role::kGradient) continue;
    ++gradients;
    EXPECT_LE(liveness.ranges[as_index(id)].length(), 3) << graph.tensor(id).name;
  }
  EXPECT_EQ(gradients, 7);
}

TEST(Autodiff, SumsTheGradientsOfATensorWithTwoConsumers) {
  const Graph forward = residual();
  const Graph graph = build_training_graph(forward, {});
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  std::vector<const Op*> sums;
  for (const Op& op : graph.ops()) {
    if (op.kind == OpKind::kAdd && op.phase == Phase::kBackward) sums.push_back(&op);
  }
  ASSERT_EQ(sums.size(), 2U);
  for (const Op* sum : sums) {
    EXPECT_EQ(graph.tensor(sum->outputs[0]).role, Role::kActivationGradient);
    EXPECT_EQ(fused_activation(sum->attributes), Activation::kNone);
  }
}

TEST(Autodiff, ResidualBranchesShareOneGradientTensor) {
  const Graph graph = build_training_graph(residual(), {});
  for (const Op& op : graph.ops()) {
    if (op.kind != OpKind::kReluBackward) continue;
    std::vector<OpKind> readers;
    for (const Op& other : graph.ops()) {
      if (contains(other.inputs, op.outputs[0])) readers.push_back(other.kind);
    }
    EXPECT_EQ(readers, (std::vector<OpKind>{OpKind::kBatchNormBackward, OpKind::kAdd}));
  }
}

TEST(Autodiff, GivesTheOptionsToTheUpdates) {
  const Graph graph = build_training_graph(chain(), {.momentum = 0.5F, .weight_decay = 0.25F});
  for (const Op& op : graph.ops()) {
    if (op.kind != OpKind::kSgdUpdate) continue;
    EXPECT_EQ(op.as<UpdateAttributes>().momentum, 0.5F);
    EXPECT_EQ(op.as<UpdateAttributes>().weight_decay, 0.25F);
    EXPECT_EQ(op.outputs, (std::vector<TensorId>{op.inputs[0], op.inputs[2]}));
    EXPECT_EQ(graph.tensor(op.inputs[2]).role, Role::kOptimizerState);
    EXPECT_EQ(graph.tensor(op.inputs[2]).shape, graph.tensor(op.inputs[0]).shape);
  }
}

TEST(Autodiff, UpdatesASharedParameterOnceWithTheSumOfItsGradients) {
  GraphBuilder builder("shared");
  builder.begin_layer("input");
  TensorId x = builder.input(2, 4, 8, 8, 10);
  builder.begin_layer("convs");
  x = builder.conv2d(builder.conv2d(x, {.out_channels = 4}), {.out_channels = 4});
  builder.begin_layer("fc");
  builder.softmax_cross_entropy(builder.dense(x, 10));
  Graph forward = std::move(builder.finish()).value();
  const TensorId weight = forward.op(1).inputs[1];
  forward.op(2).inputs[1] = weight;

  const Graph graph = build_training_graph(forward, {});
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  const Op& update = graph.ops().back();
  ASSERT_EQ(update.kind, OpKind::kSgdUpdate);
  EXPECT_EQ(update.inputs[0], weight);
  const Op& sum = graph.op(graph.op_count() - 2);
  EXPECT_EQ(sum.kind, OpKind::kAdd);
  EXPECT_EQ(sum.outputs[0], update.inputs[1]);
  for (const Op& op : graph.ops()) EXPECT_TRUE(&op == &update || !contains(op.outputs, weight)) << op.name;
}

TEST(Autodiff, AdamHasTwoMomentsAndItsOwnOptions) {
  const OptimizerOptions options = {.optimizer = Optimizer::kAdamW, .momentum = 0.8F, .beta2 = 0.95F, .epsilon = 1e-6F};
  const Graph graph = build_training_graph(chain(), options);
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  int updates = 0;
  for (const Op& op : graph.ops()) {
    ASSERT_NE(op.kind, OpKind::kSgdUpdate);
    if (op.kind != OpKind::kAdamUpdate) continue;
    ++updates;
    EXPECT_EQ(op.as<UpdateAttributes>().momentum, 0.8F);
    EXPECT_EQ(op.as<UpdateAttributes>().beta2, 0.95F);
    EXPECT_EQ(op.as<UpdateAttributes>().epsilon, 1e-6F);
    EXPECT_TRUE(op.as<UpdateAttributes>().decoupled);
    EXPECT_EQ(op.outputs, (std::vector<TensorId>{op.inputs[0], op.inputs[2], op.inputs[3]}));
    const std::string parameter = graph.tensor(op.inputs[0]).name;
    EXPECT_EQ(graph.tensor(op.inputs[2]).name, parameter + ".moment1");
    EXPECT_EQ(graph.tensor(op.inputs[3]).name, parameter + ".moment2");
  }
  EXPECT_EQ(updates, 6);
  const Graph adam = build_training_graph(chain(), {.optimizer = Optimizer::kAdam});
  EXPECT_FALSE(adam.ops().back().as<UpdateAttributes>().decoupled);
}

TEST(Autodiff, RefusesAGraphWithoutALossOrWithBackwardOps) {
  EXPECT_THROW(build_training_graph(Graph{}, {}), std::logic_error);
  EXPECT_THROW(build_training_graph(build_training_graph(chain(), {}), {}), std::logic_error);
}

}  // namespace
}  // namespace sluice::graph
