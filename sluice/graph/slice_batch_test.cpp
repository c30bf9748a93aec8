#include "sluice/graph/slice_batch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/graph/autodiff.hpp"
#include "sluice/graph/builder.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/graph/validate.hpp"

namespace sluice {
namespace {

// conv1 (8 x 16 x 16 a sample, 8 KiB) and pool1 are big at batch 6; conv2 (2 KiB a sample) is not.
Graph network() {
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

int count(const Graph& graph, OpKind kind) {
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
  const Graph sliced = slice_batch(network(), kLimit);
  ASSERT_TRUE(validate(sliced).ok()) << validate(sliced).error().message;
  EXPECT_GT(largest_separable(network()), kLimit);
  EXPECT_LE(largest_separable(sliced), kLimit);
}

TEST(SliceBatch, SlicesAreTheFewestThatDivideTheBatch) {
  const Graph sliced = slice_batch(network(), kLimit);
  EXPECT_EQ(count(sliced, OpKind::kConv2d), 3 + 1);
  EXPECT_EQ(count(sliced, OpKind::kMaxPool), 3);
  EXPECT_EQ(count(sliced, OpKind::kMaxPoolBackward), 3);
}

TEST(SliceBatch, RunsOneSliceThroughAllOpsOfARunBeforeTheNext) {
  const Graph sliced = slice_batch(network(), kLimit);
  std::vector<std::string> forward;
  for (const Op& op : sliced.ops()) {
    if (op.phase == Phase::kForward && op.attributes.out_end == 0 && op.layer == 1) forward.push_back(op.name);
  }
  ASSERT_EQ(forward.size(), 9U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_THAT(forward[i], ::testing::EndsWith("[0:2]"));
  for (std::size_t i = 6; i < 9; ++i) EXPECT_THAT(forward[i], ::testing::EndsWith("[4:6]"));
}

TEST(SliceBatch, SumsWeightGradientsInSampleOrderBeforeTheOneUpdate) {
  const Graph sliced = slice_batch(network(), kLimit);
  EXPECT_EQ(count(sliced, OpKind::kSgdUpdate), count(network(), OpKind::kSgdUpdate));
  EXPECT_EQ(count(sliced, OpKind::kAdd), 2 * 2);  // two sums of three slices each, for conv1's weight and bias
}

TEST(SliceBatch, MeetsTheRestOfTheGraphInCopies) {
  const Graph sliced = slice_batch(network(), kLimit);
  EXPECT_EQ(count(sliced, OpKind::kPlaceBatch), 3);      // the pooled activation, read whole by conv2
  EXPECT_EQ(count(sliced, OpKind::kSliceBatch), 3 + 3);  // the images, and the gradient that pooling's backward reads
}

TEST(SliceBatch, LeavesSmallGraphsAlone) {
  EXPECT_EQ(slice_batch(network(), kMiB).fingerprint(), network().fingerprint());
}

Graph trained(GraphBuilder& builder, TensorId x) {
  builder.begin_layer("fc");
  builder.softmax_cross_entropy(builder.dense(builder.global_avg_pool(x), 10));
  return build_training_graph(std::move(builder.finish()).value(), {});
}

// Two branches of 16 KiB a sample, concatenated; then a batch norm, which needs the whole batch.
Graph branches() {
  GraphBuilder builder("net");
  builder.begin_layer("branches");
  const TensorId x = builder.input(6, 3, 16, 16, 10);
  const TensorId a = builder.conv2d(x, {.out_channels = 16, .activation = Activation::kRelu});
  const TensorId b = builder.unary(builder.conv2d(x, {.out_channels = 16}), UnaryFunction::kSilu);
  return trained(builder, builder.batch_norm(builder.concat({a, b}, 1)));
}

TEST(SliceBatch, SlicesWhatTreatsSamplesAloneAndNoBatchNorm) {
  const Graph sliced = slice_batch(branches(), 100 * kKiB);  // the concat: 384 KiB, so four slices, but 6 divides by 6
  ASSERT_TRUE(validate(sliced).ok()) << validate(sliced).error().message;
  for (const OpKind kind : {OpKind::kConcat, OpKind::kUnary, OpKind::kUnaryBackward, OpKind::kReluBackward}) {
    EXPECT_EQ(count(sliced, kind) % 6, 0) << to_string(kind);
    EXPECT_GT(count(sliced, kind), 0) << to_string(kind);
  }
  EXPECT_EQ(count(sliced, OpKind::kConv2d), 12) << "beside what is sliced";
  EXPECT_EQ(count(sliced, OpKind::kBatchNorm), 1);
  EXPECT_EQ(count(sliced, OpKind::kBatchNormBackward), 1);
}

TEST(SliceBatch, CopiesNoBigTensorForAnOpJustUnderTheLimit) {
  // At 65 KiB, pooling's operands (64 KiB and a quarter of that, twice) are over the limit, the first convolution's
  // (6 KiB and 64 KiB) too; the ReLU before pooling, in place, is not.
  GraphBuilder builder("net");
  builder.begin_layer("net");
  TensorId x = builder.conv2d(builder.input(4, 3, 16, 16, 10), {.out_channels = 16, .kernel = 3, .padding = 1});
  const Graph sliced = slice_batch(trained(builder, builder.max_pool(builder.relu(x), {})), 65 * kKiB);
  ASSERT_TRUE(validate(sliced).ok()) << validate(sliced).error().message;
  EXPECT_EQ(count(sliced, OpKind::kRelu), 2);
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
  Attributes attributes;
  attributes.window = square_window(1);
  const TensorId doubled = builder.unary(weight, UnaryFunction::kLinear, 2, 0);
  const TensorId y = builder.add(OpKind::kConv2d, attributes, {x, doubled});
  const Graph whole = trained(builder, y);
  const Graph sliced = slice_batch(whole, 8 * kKiB);
  ASSERT_TRUE(validate(sliced).ok()) << validate(sliced).error().message;
  EXPECT_EQ(count(sliced, OpKind::kConv2d), 1);
}

// Two stages train one weight after the other: the second must run with what the first has made of it.
TEST(SliceBatch, UpdatesWeightsBeforeALaterStageReadsThem) {
  GraphBuilder builder("net");
  builder.begin_layer("net");
  const TensorId x = builder.input(4, 3, 16, 16, 10);
  TensorId weight = -1;
  Attributes attributes;
  attributes.window = square_window(1);
  for (const char* stage : {"a", "b"}) {
    if (weight < 0) weight = builder.named_parameter("w", {8, 3, 1, 1}, {.kind = Init::Kind::kNormal, .stddev = 1});
    builder.sigmoid_cross_entropy(builder.add(OpKind::kConv2d, attributes, {x, weight}), 1);
    builder.end_stage(stage[0] == 'a' ? "w" : "");
  }
  const Graph sliced = slice_batch(build_training_graph(*builder.finish(), {}), 16 * kKiB);
  ASSERT_TRUE(validate(sliced).ok()) << validate(sliced).error().message;
  EXPECT_GT(count(sliced, OpKind::kConv2d), 2);
  OpIndex first_update = 0;
  while (sliced.op(first_update).kind != OpKind::kSgdUpdate) ++first_update;
  int before = 0;
  for (OpIndex i = 0; i < first_update; ++i) before += sliced.op(i).kind == OpKind::kConv2d ? 1 : 0;
  EXPECT_EQ(2 * before, count(sliced, OpKind::kConv2d));
}

TEST(SliceBatch, LimitsGoByThePeakAndTheLargestWholeOp) {
  EXPECT_EQ(batch_slice_limit(network()), 32 * kMiB);
  GraphBuilder builder("norms");
  builder.begin_layer("net");
  const TensorId x = builder.input(32, 3, 112, 112, 10);
  const Graph graph = trained(builder, builder.batch_norm(builder.conv2d(x, {.out_channels = 64})));
  const Bytes activation = 32 * 64 * 112 * 112 * 4;
  EXPECT_GE(batch_slice_limit(graph), 2 * activation);
  EXPECT_LT(batch_slice_limit(graph), 3 * activation) << "the gradient is made in place";
}

}  // namespace
}  // namespace sluice
