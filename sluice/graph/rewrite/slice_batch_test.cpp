#include "sluice/graph/rewrite/slice_batch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/graph/autodiff/autodiff.hpp"
#include "sluice/graph/builder/builder.hpp"
#include "sluice/graph/builder/validate.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/graph/rewrite/batch_slices.hpp"

namespace sluice::graph {
namespace {

// conv1 (8 x 16 x 16 a sample, 8 KiB) and pool1 are big at batch 6; conv2 (2 KiB a sample) is not.
Graph sliceable_network() {
  GraphBuilder builder("net");
  builder.begin_layer("input");
  TensorId x = builder.input(6, 3, 16, 16, 10);
  builder.begin_layer("conv1");
  x = builder.relu(builder.conv2d(x, {.out_channels = 8, .kernel = 3, .padding = 1, .bias = true}));
  x = builder.max_pool(x, {});
  builder.begin_layer("conv2");
  x = builder.relu(builder.conv2d(x, {.out_channels = 8, .kernel = 3, .padding = 1, .bias = true}));
  builder.begin_layer("fc");
  builder.softmax_cross_entropy(builder.dense(x, 10));
  return build_training_graph(std::move(builder.finish()).value(), {});
}

constexpr Bytes kLimit = 33 * kKiB;  // the largest op is the backward ReLU of conv1: 96 KiB, so three slices

int ops_of_kind(const Graph& graph, OpKind kind) {
  return static_cast<int>(
      std::count_if(graph.ops().begin(), graph.ops().end(), [&](const Op& op) { return op.kind == kind; }));
}

Bytes largest_separable(const Graph& graph) {
  Bytes largest = 0;
  for (const Op& op : graph.ops()) {
    if (op.kind != OpKind::kConv2d && op.kind != OpKind::kMaxPool && op.kind != OpKind::kConv2dBackwardWeights)
      continue;
    Bytes bytes = 0;
    for (const TensorId id : distinct_operands(op)) bytes += graph.tensor(id).bytes;
    largest = std::max(largest, bytes);
  }
  return largest;
}

TEST(SliceBatch, MakesValidGraphsWhoseOpsFitTheLimit) {
  const Graph sliced = slice_batch(sliceable_network(), kLimit);
  ASSERT_TRUE(validate(sliced).ok()) << validate(sliced).error().message;
  EXPECT_GT(largest_separable(sliceable_network()), kLimit);
  EXPECT_LE(largest_separable(sliced), kLimit);
}

TEST(SliceBatch, SlicesAreTheFewestThatDivideTheBatch) {
  const Graph sliced = slice_batch(sliceable_network(), kLimit);
  EXPECT_EQ(ops_of_kind(sliced, OpKind::kConv2d), 3 + 1);
  EXPECT_EQ(ops_of_kind(sliced, OpKind::kMaxPool), 3);
  EXPECT_EQ(ops_of_kind(sliced, OpKind::kMaxPoolBackward), 3);
}

TEST(SliceBatch, RunsOneSliceThroughAllOpsOfARunBeforeTheNext) {
  const Graph sliced = slice_batch(sliceable_network(), kLimit);
  std::vector<std::string> forward;
  for (const Op& op : sliced.ops()) {
    if (op.phase == Phase::kForward && op.slice.end == 0 && op.layer == 1) forward.push_back(op.name);
  }
  ASSERT_EQ(forward.size(), 9U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_THAT(forward[i], ::testing::EndsWith("[0:2]"));
  for (std::size_t i = 6; i < 9; ++i) EXPECT_THAT(forward[i], ::testing::EndsWith("[4:6]"));
}

TEST(SliceBatch, SumsWeightGradientsInSampleOrderBeforeTheOneUpdate) {
  const Graph sliced = slice_batch(sliceable_network(), kLimit);
  EXPECT_EQ(ops_of_kind(sliced, OpKind::kSgdUpdate), ops_of_kind(sliceable_network(), OpKind::kSgdUpdate));
  EXPECT_EQ(ops_of_kind(sliced, OpKind::kAdd), 2 * 2);  // two sums of three slices each, for conv1's weight and bias
}

TEST(SliceBatch, MeetsTheRestOfTheGraphInCopies) {
  const Graph sliced = slice_batch(sliceable_network(), kLimit);
  EXPECT_EQ(ops_of_kind(sliced, OpKind::kPlaceBatch), 3);  // the pooled activation, read whole by conv2
  EXPECT_EQ(ops_of_kind(sliced, OpKind::kSliceBatch),
            3 + 3);  // the images, and the gradient that pooling's backward reads
}

TEST(SliceBatch, LeavesSmallGraphsAlone) {
  EXPECT_EQ(slice_batch(sliceable_network(), kMiB).fingerprint(), sliceable_network().fingerprint());
}

Graph trained(GraphBuilder& builder, TensorId x) {
  builder.begin_layer("fc");
  builder.softmax_cross_entropy(builder.dense(builder.global_avg_pool(x), 10));
  return build_training_graph(std::move(builder.finish()).value(), {});
}

// Two branches of 16 KiB a sample, concatenated; then a batch norm.
Graph branches() {
  GraphBuilder builder("net");
  builder.begin_layer("branches");
  const TensorId x = builder.input(6, 3, 16, 16, 10);
  const TensorId a = builder.conv2d(x, {.out_channels = 16, .activation = Activation::kRelu});
  const TensorId b = builder.unary(builder.conv2d(x, {.out_channels = 16}), UnaryFunction::kSilu);
  return trained(builder, builder.batch_norm(builder.concat({a, b}, 1)));
}

TEST(SliceBatch, SlicesWhatTreatsSamplesAlone) {
  const Graph sliced = slice_batch(branches(), 100 * kKiB);  // the concat: 384 KiB, so four slices, but 6 divides by 6
  ASSERT_TRUE(validate(sliced).ok()) << validate(sliced).error().message;
  for (const OpKind kind : {OpKind::kConcat, OpKind::kUnary, OpKind::kUnaryBackward, OpKind::kReluBackward}) {
    EXPECT_EQ(ops_of_kind(sliced, kind) % 6, 0) << to_string(kind);
    EXPECT_GT(ops_of_kind(sliced, kind), 0) << to_string(kind);
  }
  EXPECT_EQ(ops_of_kind(sliced, OpKind::kConv2d), 12) << "beside what is sliced";
}

TEST(SliceBatch, MergesTheStatisticsOfAllSlicesOfABatchNorm) {
  const Graph sliced = slice_batch(branches(), 100 * kKiB);
  EXPECT_EQ(ops_of_kind(sliced, OpKind::kBatchNorm), 0);
  EXPECT_EQ(ops_of_kind(sliced, OpKind::kBatchNormBackward), 0);
  EXPECT_EQ(ops_of_kind(sliced, OpKind::kBatchNormStatistics), 6);
  EXPECT_EQ(ops_of_kind(sliced, OpKind::kBatchNormApply), 6);
  EXPECT_EQ(ops_of_kind(sliced, OpKind::kBatchNormBackwardSums), 6);
  EXPECT_EQ(ops_of_kind(sliced, OpKind::kBatchNormBackwardApply), 6);
  ASSERT_EQ(ops_of_kind(sliced, OpKind::kBatchNormMerge), 1);
  const auto merge = std::find_if(sliced.ops().begin(), sliced.ops().end(),
                                  [](const Op& op) { return op.kind == OpKind::kBatchNormMerge; });
  ASSERT_EQ(merge->inputs.size(), 7U);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(sliced.tensor(merge->inputs[i]).shape, (Shape{2, 32}));
    EXPECT_THAT(sliced.tensor(merge->inputs[i]).name,
                ::testing::EndsWith(".stats.part[" + std::to_string(i) + ":" + std::to_string(i + 1) + "]"));
  }
  EXPECT_EQ(sliced.tensor(merge->inputs[6]).role, Role::kBuffer);
}

// A gradient of a norm needs the sums of all slices before its first pixel.
TEST(SliceBatch, AddsTheSumsOfAllSlicesBeforeTheFirstGradient) {
  const Graph sliced = slice_batch(branches(), 100 * kKiB);
  std::vector<std::string> order;
  for (const Op& op : sliced.ops()) {
    const bool sum = op.kind == OpKind::kAdd && sliced.tensor(op.outputs[0]).shape == Shape{2, 32};
    if (sum) order.push_back("add");
    if (op.kind == OpKind::kBatchNormBackwardSums) order.push_back("sums");
    if (op.kind == OpKind::kBatchNormBackwardApply) order.push_back("apply");
  }
  EXPECT_EQ(order.front(), "sums");
  EXPECT_EQ(std::vector<std::string>(order.end() - 6, order.end()), std::vector<std::string>(6, "apply"));
  EXPECT_EQ(std::count(order.begin(), order.end(), "add"), 5);
}

// Two residual blocks, all of them big: what is between them stays in parts.
TEST(SliceBatch, CopiesNothingBetweenBlocksOfNormsAndShortcuts) {
  GraphBuilder builder("net");
  builder.begin_layer("net");
  TensorId x = builder.conv2d(builder.input(4, 3, 16, 16, 10), {.out_channels = 16, .kernel = 3, .padding = 1});
  x = builder.batch_norm(x, Activation::kRelu);
  for (int block = 0; block < 2; ++block) {
    TensorId y = builder.conv2d(x, {.out_channels = 8});  // narrow: its norm alone would not be sliced
    y = builder.conv2d(builder.batch_norm(y, Activation::kRelu), {.out_channels = 16});
    x = builder.add(builder.batch_norm(y), x, Activation::kRelu);
  }
  const Graph sliced = slice_batch(trained(builder, x), 70 * kKiB);
  ASSERT_TRUE(validate(sliced).ok()) << validate(sliced).error().message;
  EXPECT_EQ(ops_of_kind(sliced, OpKind::kBatchNorm), 0);
  for (const Op& op : sliced.ops()) {
    if (op.kind != OpKind::kPlaceBatch && op.kind != OpKind::kSliceBatch) continue;
    const bool images = sliced.tensor(op.inputs[0]).role == Role::kInput;
    const bool pooled = sliced.tensor(op.outputs[0]).bytes <= 4 * 16 * 4;
    EXPECT_TRUE(images || pooled) << op.name;
  }
}

TEST(SliceBatch, CopiesNoBigTensorForAnOpJustUnderTheLimit) {
  // At 65 KiB, pooling's operands (64 KiB and a quarter of that, twice) are over the limit, the first convolution's
  // (6 KiB and 64 KiB) too; the ReLU before pooling, in place, is not.
  GraphBuilder builder("net");
  builder.begin_layer("net");
  TensorId x = builder.conv2d(builder.input(4, 3, 16, 16, 10), {.out_channels = 16, .kernel = 3, .padding = 1});
  const Graph sliced = slice_batch(trained(builder, builder.max_pool(builder.relu(x), {})), 65 * kKiB);
  ASSERT_TRUE(validate(sliced).ok()) << validate(sliced).error().message;
  EXPECT_EQ(ops_of_kind(sliced, OpKind::kRelu), 2);
  for (const Op& op : sliced.ops()) {
    if (op.kind != OpKind::kPlaceBatch) continue;
    EXPECT_LT(sliced.tensor(op.outputs[0]).bytes, 64 * kKiB) << op.name;
  }
}

TEST(SliceBatch, KeepsComputedWeightsWhole) {
  GraphBuilder builder("net");
  builder.begin_layer("net");
  const TensorId x = builder.input(4, 3, 16, 16, 10);
  const TensorId weight = builder.named_parameter("w", {4, 3, 1, 1}, {.kind = Init::Kind::kNormal, .stddev = 1});
  ConvolutionAttributes attributes;
  attributes.window = square_window(1);
  const TensorId doubled = builder.unary(weight, UnaryFunction::kLinear, 2, 0);
  const TensorId y = builder.add(OpKind::kConv2d, attributes, {x, doubled});
  const Graph whole = trained(builder, y);
  const Graph sliced = slice_batch(whole, 8 * kKiB);
  ASSERT_TRUE(validate(sliced).ok()) << validate(sliced).error().message;
  EXPECT_EQ(ops_of_kind(sliced, OpKind::kConv2d), 1);
}

// Two stages train one weight after the other: the second must run with what the first has made of it.
TEST(SliceBatch, UpdatesWeightsBeforeALaterStageReadsThem) {
  GraphBuilder builder("net");
  builder.begin_layer("net");
  const TensorId x = builder.input(4, 3, 16, 16, 10);
  TensorId weight = -1;
  ConvolutionAttributes attributes;
  attributes.window = square_window(1);
  for (const char* stage : {"a", "b"}) {
    if (weight < 0) weight = builder.named_parameter("w", {8, 3, 1, 1}, {.kind = Init::Kind::kNormal, .stddev = 1});
    builder.sigmoid_cross_entropy(builder.add(OpKind::kConv2d, attributes, {x, weight}), 1);
    builder.end_stage(stage[0] == 'a' ? "w" : "");
  }
  const Graph sliced = slice_batch(build_training_graph(*builder.finish(), {}), 16 * kKiB);
  ASSERT_TRUE(validate(sliced).ok()) << validate(sliced).error().message;
  EXPECT_GT(ops_of_kind(sliced, OpKind::kConv2d), 2);
  OpIndex first_update = 0;
  while (sliced.op(first_update).kind != OpKind::kSgdUpdate) ++first_update;
  int before = 0;
  for (OpIndex i = 0; i < first_update; ++i) before += sliced.op(i).kind == OpKind::kConv2d ? 1 : 0;
  EXPECT_EQ(2 * before, ops_of_kind(sliced, OpKind::kConv2d));
}

TEST(SliceBatch, LimitsGoByThePeakAndTheLargestWholeOp) {
  EXPECT_EQ(batch_slice_limit(sliceable_network()), kSmallestSliceLimit);
  const auto limit = [](bool with_dropout) {
    GraphBuilder builder("net");
    builder.begin_layer("net");
    TensorId x = builder.batch_norm(builder.conv2d(builder.input(32, 3, 112, 112, 10), {.out_channels = 64}));
    if (with_dropout) x = builder.dropout(x, 0.5F);
    return batch_slice_limit(trained(builder, builder.gelu(x)));
  };
  const Bytes activation = 32 * 64 * 112 * 112 * 4;
  EXPECT_LT(limit(false), activation);
  EXPECT_GE(limit(true), activation) << "dropout treats no sample alone";
  EXPECT_LE(limit(true), 2 * activation);
}

}  // namespace
}  // namespace sluice::graph
