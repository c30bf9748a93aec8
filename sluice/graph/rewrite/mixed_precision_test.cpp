#include "sluice/graph/rewrite/mixed_precision.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sluice/graph/autodiff/autodiff.hpp"
#include "sluice/graph/builder/builder.hpp"
#include "sluice/graph/builder/validate.hpp"
#include "sluice/graph/rewrite/slice_dense.hpp"

namespace sluice::graph {
namespace {

using DTypes = std::vector<DType>;
constexpr DType kFull = DType::kF32;
constexpr DType kHalf = DType::kBF16;

Graph images() {
  GraphBuilder builder("net");
  builder.begin_layer("net");
  TensorId x = builder.input(4, 3, 8, 8, 10);
  x = builder.batch_norm(builder.conv2d(x, {.out_channels = 4, .bias = true}), Activation::kRelu);
  x = builder.max_pool(x, {});
  builder.softmax_cross_entropy(builder.dense(x, 10));
  return std::move(builder.finish()).value();
}

Graph language() {
  GraphBuilder builder("net");
  builder.begin_layer("net");
  const TensorId ids =
      builder.inputs({{"tokens", Content::kTokens, {2, 6}, 50}, {"next", Content::kNextTokens, {2, 6}, 50}})[0];
  const TensorId words = builder.embedding(ids, 50, 8);
  const TensorId places = builder.named_parameter("places", {6, 8}, {.kind = Init::Kind::kNormal, .stddev = 1});
  TensorId x = builder.layer_norm(builder.binary(words, places, BinaryFunction::kAdd));
  x = builder.matmul(builder.softmax(builder.matmul(x, builder.transpose(x, {0, 2, 1})), 1, true), x);
  builder.softmax_cross_entropy(builder.dense(x, 50, false));
  return std::move(builder.finish()).value();
}

DTypes of(const Graph& graph, const std::vector<TensorId>& operands) {
  DTypes types;
  for (const TensorId id : operands) types.push_back(graph.tensor(id).dtype);
  return types;
}

const Op& only(const Graph& graph, OpKind kind, Phase phase) {
  const Op* found = nullptr;
  for (const Op& op : graph.ops()) {
    if (op.kind == kind && op.phase == phase) found = &op;
  }
  EXPECT_NE(found, nullptr) << to_string(kind);
  return *found;
}

TEST(MixedPrecision, HalvesActivationsAndTheirGradientsOnly) {
  const Graph whole = build_training_graph(images(), {});
  const Graph graph = to_mixed_precision(whole);
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  for (const Tensor& tensor : graph.tensors()) {
    const bool fine = is_persistent(tensor.role) || tensor.role == Role::kGradient || tensor.role == Role::kOutput;
    if (fine) {
      EXPECT_NE(tensor.dtype, kHalf) << tensor.name;
    }
    if (!fine && tensor.shape.size() == 4 && tensor.role != Role::kInput) {
      EXPECT_NE(tensor.dtype, kFull) << tensor.name;
    }
    EXPECT_EQ(tensor.bytes, element_count(tensor.shape) * size_of(tensor.dtype)) << tensor.name;
  }
}

TEST(MixedPrecision, GivesConvolutionsAndNormsTheirFormats) {
  const Graph graph = to_mixed_precision(build_training_graph(images(), {}));
  const Op& conv = only(graph, OpKind::kConv2d, Phase::kForward);
  EXPECT_EQ(of(graph, conv.inputs), (DTypes{kHalf, kHalf, kFull}));
  EXPECT_EQ(of(graph, conv.outputs), DTypes{kHalf});
  const Op& weights = only(graph, OpKind::kConv2dBackwardWeights, Phase::kBackward);
  EXPECT_EQ(of(graph, weights.inputs), (DTypes{kHalf, kHalf}));
  EXPECT_EQ(of(graph, weights.outputs), (DTypes{kFull, kFull}));
  const Op& norm = only(graph, OpKind::kBatchNormBackward, Phase::kBackward);
  EXPECT_EQ(of(graph, norm.inputs), (DTypes{kHalf, kHalf, kFull, kFull}));
  EXPECT_EQ(of(graph, norm.outputs), (DTypes{kHalf, kFull}));
  const Op& pool = only(graph, OpKind::kMaxPool, Phase::kForward);
  EXPECT_EQ(of(graph, pool.outputs), (DTypes{kHalf, DType::kU8}));
}

TEST(MixedPrecision, KeepsLogitsAndProbabilitiesFull) {
  const Graph graph = to_mixed_precision(build_training_graph(images(), {}));
  EXPECT_EQ(of(graph, only(graph, OpKind::kDense, Phase::kForward).outputs), DTypes{kFull});
  const Op& loss = only(graph, OpKind::kSoftmaxCrossEntropy, Phase::kForward);
  EXPECT_EQ(of(graph, loss.inputs), (DTypes{kFull, DType::kI32}));
  EXPECT_EQ(of(graph, loss.outputs), (DTypes{kFull, kFull}));
  EXPECT_EQ(of(graph, only(graph, OpKind::kSoftmaxCrossEntropyBackward, Phase::kBackward).outputs), DTypes{kHalf});
}

TEST(MixedPrecision, CastsAWeightOnceForwardAndOnceBackward) {
  const Graph graph = to_mixed_precision(build_training_graph(images(), {}));
  std::vector<std::string> casts;
  for (const Op& op : graph.ops()) {
    if (op.kind == OpKind::kCast) casts.push_back(graph.tensor(op.outputs[0]).name);
  }
  // The images are cast once for both passes; the first convolution's weights have no use in the backward pass.
  EXPECT_EQ(casts, (std::vector<std::string>{"net.images.bf16", "net.weight.bf16", "net.weight_2.bf16",
                                             "net.weight_2.bf16_2"}));
}

TEST(MixedPrecision, ReadsEmbeddingsInFullAndSumsParametersGradientsInFull) {
  const Graph graph = to_mixed_precision(build_training_graph(language(), {}));
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  const Op& embedding = only(graph, OpKind::kEmbedding, Phase::kForward);
  EXPECT_EQ(of(graph, embedding.inputs), (DTypes{DType::kI32, kFull}));
  EXPECT_EQ(of(graph, embedding.outputs), DTypes{kHalf});
  const Op& backward = only(graph, OpKind::kEmbeddingBackward, Phase::kBackward);
  EXPECT_EQ(of(graph, backward.inputs), (DTypes{DType::kI32, kHalf}));
  EXPECT_EQ(of(graph, backward.outputs), DTypes{kFull});
  for (const Op& op : graph.ops()) {
    const bool product = op.kind == OpKind::kMatMul || op.kind == OpKind::kSoftmax || op.kind == OpKind::kBinary;
    if (product) {
      EXPECT_EQ(of(graph, op.inputs), DTypes(op.inputs.size(), kHalf)) << op.name;
    }
    for (const TensorId id : op.outputs) {
      if (graph.tensor(id).role == Role::kGradient) {
        EXPECT_EQ(graph.tensor(id).dtype, kFull) << op.name;
      }
    }
  }
}

TEST(MixedPrecision, GivesSlicesTheFormatOfTheWhole) {
  const Graph graph = to_mixed_precision(slice_dense(build_training_graph(language(), {}), 600));
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  int partial = 0;
  for (const Op& op : graph.ops()) {
    if (!op.slice.partial) continue;
    ++partial;
    EXPECT_EQ(op.inputs.back(), op.outputs[0]) << op.name;
    const bool logits = op.kind == OpKind::kDense;
    EXPECT_EQ(graph.tensor(op.outputs[0]).dtype, logits ? kFull : kHalf) << op.name;
  }
  EXPECT_GT(partial, 2);
}

TEST(MixedPrecision, CastsAWeightAgainAfterItsUpdate) {
  GraphBuilder builder("net");
  builder.begin_layer("net");
  const TensorId x = builder.inputs({{"x", Content::kNoise, {2, 4}, 0}})[0];
  const TensorId w = builder.named_parameter("w", {4, 4}, {.kind = Init::Kind::kNormal, .stddev = 1});
  builder.sigmoid_cross_entropy(builder.dense_with(x, w), 1);
  builder.end_stage("w");
  builder.sigmoid_cross_entropy(builder.dense_with(x, w), 0);
  builder.end_stage("none");
  const Graph graph = to_mixed_precision(build_training_graph(*builder.finish(), {}));
  int casts = 0;
  for (const Op& op : graph.ops()) casts += op.kind == OpKind::kCast && graph.tensor(op.inputs[0]).name == "w" ? 1 : 0;
  EXPECT_EQ(casts, 2);
}

}  // namespace
}  // namespace sluice::graph
