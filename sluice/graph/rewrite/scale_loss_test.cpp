#include "sluice/graph/rewrite/scale_loss.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/graph/builder/validate.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/graph/rewrite/prepare.hpp"
#include "sluice/models/model.hpp"

namespace sluice::graph {
namespace {

Graph scaled_step(const OptimizerOptions& optimizer = {}) {
  const Graph forward =
      models::build_model("gpt2_small", {.batch = 2, .classes = 50, .sequence = 8, .width = 64, .depth = 1}).value();
  return prepare_training_graph(forward, optimizer, Precision::kF16Masters);
}

std::vector<Op> scaled_step_ops(const Graph& graph, OpKind kind) {
  std::vector<Op> found;
  std::ranges::copy_if(graph.ops(), std::back_inserter(found), [&](const Op& op) { return op.kind == kind; });
  return found;
}

TEST(ScaleLoss, MultipliesWhereGradientsBeginAndDividesWhereTheyUpdate) {
  const Graph graph = scaled_step();
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  const TensorId scale = loss_scale_tensors(graph)->scale;
  EXPECT_EQ(graph.tensor(scale).init.kind, Init::Kind::kConstant);
  EXPECT_EQ(graph.tensor(scale).init.stddev, 65536);
  for (const Op& op : scaled_step_ops(graph, OpKind::kSoftmaxCrossEntropyBackward)) EXPECT_EQ(op.inputs.back(), scale);
  const std::vector<Op> factors = scaled_step_ops(graph, OpKind::kClipFactor);
  ASSERT_EQ(factors.size(), 1U);
  EXPECT_EQ(factors.front().as<ClipAttributes>().norm, 0) << "clips nothing";
  for (const Op& op : graph.ops()) {
    if (!is_update(op.kind)) continue;
    EXPECT_TRUE(op.as<UpdateAttributes>().scaled) << op.name;
    EXPECT_EQ(op.inputs[2 + moments_of(op.kind)], factors.front().outputs[0]) << op.name;
  }
  EXPECT_EQ(graph.ops().back().kind, OpKind::kLossScale) << "behind everything that reads it";
}

TEST(ScaleLoss, ScalesEveryBatchOfAStep) {
  const Graph graph = scaled_step({.clip_norm = 0.5F, .accumulate = 3});
  ASSERT_TRUE(validate(graph).ok());
  const std::vector<Op> losses = scaled_step_ops(graph, OpKind::kSoftmaxCrossEntropyBackward);
  EXPECT_EQ(losses.size() % 3, 0U);
  for (const Op& op : losses) EXPECT_EQ(op.inputs.size(), 3U);
  EXPECT_EQ(scaled_step_ops(graph, OpKind::kClipFactor).front().as<ClipAttributes>().norm, 0.5F);
}

// A gradient that waits for a step was made with the scale of that step.
TEST(ScaleLoss, KeepsTheScaleOfGradientsInFlight) {
  const Graph graph = scaled_step({.delayed = true});
  ASSERT_TRUE(validate(graph).ok());
  const Op factor = scaled_step_ops(graph, OpKind::kClipFactor).front();
  const Op next = scaled_step_ops(graph, OpKind::kLossScale).front();
  const TensorId of_updates = factor.inputs[factor.inputs.size() - 2];
  EXPECT_NE(of_updates, loss_scale_tensors(graph)->scale);
  EXPECT_EQ(next.inputs.back(), of_updates);
  EXPECT_EQ(next.outputs.back(), of_updates);
}

TEST(ScaleLoss, KeepsParametersAndTheirGradientsInFp16) {
  const Graph graph = scaled_step();
  for (const Tensor& tensor : graph.tensors()) {
    EXPECT_EQ(tensor.bytes, element_count(tensor.shape) * size_of(tensor.dtype)) << tensor.name;
  }
  std::int64_t halves = 0;
  for (const Tensor& tensor : graph.tensors()) {
    EXPECT_NE(tensor.dtype, DType::kBF16) << tensor.name;
    halves += tensor.role == Role::kParameter && tensor.dtype == DType::kF16 ? 1 : 0;
  }
  EXPECT_GT(halves, 0);
}

}  // namespace
}  // namespace sluice::graph
