#include "sluice/graph/rewrite/evaluation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "sluice/graph/builder/builder.hpp"
#include "sluice/graph/builder/validate.hpp"
#include "sluice/graph/rewrite/prepare.hpp"

namespace sluice::graph {
namespace {

Graph network() {
  GraphBuilder builder("net");
  builder.begin_layer("net");
  TensorId x = builder.input(4, 3, 8, 8, 10);
  const TensorId shortcut = builder.conv2d(x, {.out_channels = 4});
  x = builder.batch_norm(builder.conv2d(x, {.out_channels = 4}), Activation::kRelu);
  x = builder.batch_norm(builder.conv2d(x, {.out_channels = 4}));
  x = builder.dropout(builder.add(x, shortcut, Activation::kRelu), 0.5F);
  x = builder.relu(builder.dense(x, 20000));  // 20 MiB of weights
  builder.softmax_cross_entropy(builder.dense(x, 10));
  return std::move(builder.finish()).value();
}

int count(const Graph& graph, OpKind kind) {
  return static_cast<int>(
      std::count_if(graph.ops().begin(), graph.ops().end(), [&](const Op& op) { return op.kind == kind; }));
}

std::set<std::string> persistent_names(const Graph& graph) {
  std::set<std::string> names;
  for (const Tensor& tensor : graph.tensors()) {
    if (tensor.role == Role::kParameter || tensor.role == Role::kBuffer) names.insert(tensor.name);
  }
  return names;
}

TEST(Evaluation, NormalizesByRunningStatistics) {
  const Graph graph = build_evaluation_graph(network());
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  EXPECT_EQ(count(graph, OpKind::kBatchNorm), 0);
  EXPECT_EQ(count(graph, OpKind::kBatchNormApply), 2);
  for (const Op& op : graph.ops()) {
    EXPECT_EQ(op.phase, Phase::kForward);
    for (const TensorId id : op.outputs) EXPECT_FALSE(is_persistent(graph.tensor(id).role)) << op.name;
    if (op.kind == OpKind::kBatchNormApply) {
      EXPECT_EQ(graph.tensor(op.inputs[2]).role, Role::kBuffer);
    }
  }
}

TEST(Evaluation, DropsDropout) {
  const Graph graph = build_evaluation_graph(network());
  EXPECT_EQ(count(network(), OpKind::kDropout), 1);
  EXPECT_EQ(count(graph, OpKind::kDropout), 0);
}

TEST(Evaluation, KeepsLossAndProbabilities) {
  const Graph graph = build_evaluation_graph(network());
  std::vector<std::string> outputs;
  for (const Tensor& tensor : graph.tensors()) {
    if (tensor.role == Role::kOutput) outputs.push_back(tensor.name);
  }
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_TRUE(outputs[0].ends_with(".loss")) << outputs[0];
  EXPECT_TRUE(outputs[1].ends_with(".probabilities")) << outputs[1];
}

TEST(Evaluation, KeepsNoProbabilitiesOfTokens) {
  GraphBuilder builder("net");
  builder.begin_layer("net");
  const TensorId ids =
      builder.inputs({{"tokens", Content::kTokens, {2, 6}, 50}, {"next", Content::kNextTokens, {2, 6}, 50}})[0];
  builder.softmax_cross_entropy(builder.dense(builder.embedding(ids, 50, 8), 50));
  const Graph graph = build_evaluation_graph(*builder.finish());
  const auto& tensors = graph.tensors();
  EXPECT_EQ(std::ranges::count(tensors, Role::kOutput, &Tensor::role), 1);
}

TEST(Evaluation, HasTheTrainingGraphsParametersAndSlices) {
  for (const Precision precision : {Precision::kF32, Precision::kBF16}) {
    const Graph evaluation = prepare_evaluation_graph(network(), precision);
    ASSERT_TRUE(validate(evaluation).ok()) << validate(evaluation).error().message;
    const std::set<std::string> names = persistent_names(evaluation);
    EXPECT_EQ(names, persistent_names(prepare_training_graph(network(), {}, precision)));
    EXPECT_GT(std::count_if(names.begin(), names.end(), [](const auto& name) { return name.ends_with("]"); }), 1);
  }
}

}  // namespace
}  // namespace sluice::graph
