#include "sluice/graph/rewrite/split_batch_norm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/autodiff/autodiff.hpp"
#include "sluice/graph/builder/builder.hpp"
#include "sluice/graph/builder/validate.hpp"
#include "sluice/graph/rewrite/mixed_precision.hpp"

namespace sluice::graph {
namespace {

constexpr std::int64_t kChannelElements = 6 * 5 * 7;

// Two norms; the second with a residual that is added before its ReLU.
Graph normalized_network() {
  GraphBuilder builder("net");
  builder.begin_layer("net");
  const TensorId x = builder.conv2d(builder.input(6, 3, 5, 7, 10), {.out_channels = 8});
  const TensorId y = builder.batch_norm(x, Activation::kRelu6);
  const TensorId scale_shift = builder.named_parameter("scale_shift", {2, 8}, {.kind = Init::Kind::kScaleShift});
  const TensorId running =
      builder.named_parameter("running", {2, 8}, {.kind = Init::Kind::kRunningStats}, Role::kBuffer);
  const NormAttributes attributes{.activation = Activation::kRelu, .epsilon = 1e-3F, .momentum = 0.2F};
  const TensorId z =
      builder.add(OpKind::kBatchNorm, attributes, {builder.conv2d(y, {.out_channels = 8}), scale_shift, running, y});
  builder.softmax_cross_entropy(builder.dense(builder.global_avg_pool(z), 10));
  return build_training_graph(*builder.finish(), {.rematerialize = Rematerialize::kNothing});
}

std::vector<const Op*> ops(const Graph& graph, OpKind kind) {
  std::vector<const Op*> found;
  for (const Op& op : graph.ops()) {
    if (op.kind == kind) found.push_back(&op);
  }
  return found;
}

SplitGraph split_all(const Graph& graph) {
  return split_batch_norms(graph, std::vector<bool>(graph.ops().size(), true));
}

TEST(SplitBatchNorm, LeavesWhatIsNotSlicedAlone) {
  const Graph graph = normalized_network();
  const SplitGraph split = split_batch_norms(graph, std::vector<bool>(graph.ops().size(), false));
  EXPECT_EQ(split.graph.fingerprint(), graph.fingerprint());
  EXPECT_EQ(split.sliced, std::vector<bool>(graph.ops().size(), false));
}

TEST(SplitBatchNorm, MakesAValidGraphOfPartsThatAreSlicedButForMerges) {
  const SplitGraph split = split_all(normalized_network());
  ASSERT_TRUE(validate(split.graph).ok()) << validate(split.graph).error().message;
  ASSERT_EQ(split.sliced.size(), split.graph.ops().size());
  EXPECT_TRUE(ops(split.graph, OpKind::kBatchNorm).empty());
  EXPECT_TRUE(ops(split.graph, OpKind::kBatchNormBackward).empty());
  EXPECT_EQ(ops(split.graph, OpKind::kBatchNormMerge).size(), 2U);
  for (OpIndex i = 0; i < split.graph.op_count(); ++i) {
    const bool merge = split.graph.op(i).kind == OpKind::kBatchNormMerge;
    EXPECT_EQ(split.sliced[as_index(i)], !merge) << split.graph.op(i).name;
  }
}

TEST(SplitBatchNorm, PartsNameTheOperandsOfTheNorm) {
  const Graph graph = normalized_network();
  const SplitGraph split = split_all(graph);
  const Op& norm = *ops(graph, OpKind::kBatchNorm)[1];
  const Op& statistics = *ops(split.graph, OpKind::kBatchNormStatistics)[1];
  const Op& merge = *ops(split.graph, OpKind::kBatchNormMerge)[1];
  const Op& apply = *ops(split.graph, OpKind::kBatchNormApply)[1];
  EXPECT_EQ(statistics.inputs, (std::vector<TensorId>{norm.inputs[0]}));
  EXPECT_EQ(merge.inputs, (std::vector<TensorId>{statistics.outputs[0], norm.inputs[2]}));
  EXPECT_EQ(merge.outputs, (std::vector<TensorId>{norm.outputs[1], norm.outputs[2]}));
  EXPECT_EQ(apply.inputs, (std::vector<TensorId>{norm.inputs[0], norm.inputs[1], norm.outputs[1], norm.inputs[3]}));
  EXPECT_EQ(apply.outputs, (std::vector<TensorId>{norm.outputs[0]}));
  EXPECT_EQ(apply.name, norm.name);
  EXPECT_EQ(fused_activation(apply.attributes), Activation::kRelu);
  EXPECT_EQ(merge.as<NormAttributes>().channel_elements, kChannelElements);
  EXPECT_EQ(merge.as<NormAttributes>().momentum, norm.as<NormAttributes>().momentum);
}

TEST(SplitBatchNorm, GradientsKeepTheActivationAndTheOrder) {
  const Graph graph = normalized_network();
  const SplitGraph split = split_all(graph);
  const Op& norm = *ops(graph, OpKind::kBatchNormBackward)[1];  // of the first norm
  const Op& sums = *ops(split.graph, OpKind::kBatchNormBackwardSums)[1];
  const Op& apply = *ops(split.graph, OpKind::kBatchNormBackwardApply)[1];
  EXPECT_EQ(sums.inputs, norm.inputs);
  EXPECT_EQ(sums.outputs, (std::vector<TensorId>{norm.outputs[1]}));
  EXPECT_EQ(apply.inputs.back(), norm.outputs[1]);
  EXPECT_EQ(apply.outputs, (std::vector<TensorId>{norm.outputs[0]}));
  EXPECT_EQ(apply.as<NormAttributes>().channel_elements, kChannelElements);
  for (const Op* part : {&sums, &apply}) {
    EXPECT_EQ(fused_activation(part->attributes), Activation::kRelu6);
    EXPECT_EQ(part->as<NormAttributes>().epsilon, norm.as<NormAttributes>().epsilon);
    EXPECT_EQ(part->phase, Phase::kBackward);
  }
}

TEST(SplitBatchNorm, KeepsStatisticsFullInMixedPrecision) {
  const Graph graph = to_mixed_precision(split_all(normalized_network()).graph);
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  const auto dtypes = [&](const std::vector<TensorId>& operands) {
    std::vector<DType> result;
    for (const TensorId id : operands) result.push_back(graph.tensor(id).dtype);
    return result;
  };
  constexpr DType kSingle = DType::kF32;
  constexpr DType kBrain = DType::kBF16;
  using Types = std::vector<DType>;
  EXPECT_EQ(dtypes(ops(graph, OpKind::kBatchNormStatistics)[0]->inputs), Types{kBrain});
  EXPECT_EQ(dtypes(ops(graph, OpKind::kBatchNormStatistics)[0]->outputs), Types{kSingle});
  EXPECT_EQ(dtypes(ops(graph, OpKind::kBatchNormMerge)[0]->inputs), (Types{kSingle, kSingle}));
  EXPECT_EQ(dtypes(ops(graph, OpKind::kBatchNormMerge)[0]->outputs), (Types{kSingle, kSingle}));
  EXPECT_EQ(dtypes(ops(graph, OpKind::kBatchNormBackwardSums)[0]->outputs), Types{kSingle});
  const Op& apply = *ops(graph, OpKind::kBatchNormBackwardApply)[0];
  EXPECT_EQ(dtypes(apply.inputs), (Types{kBrain, kBrain, kSingle, kSingle, kSingle}));
  EXPECT_EQ(dtypes(apply.outputs), Types{kBrain});
}

}  // namespace
}  // namespace sluice::graph
