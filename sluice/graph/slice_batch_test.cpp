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

}  // namespace
}  // namespace sluice
