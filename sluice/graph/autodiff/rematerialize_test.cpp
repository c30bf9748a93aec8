#include "sluice/graph/autodiff/rematerialize.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/autodiff/autodiff.hpp"
#include "sluice/graph/builder/builder.hpp"
#include "sluice/graph/builder/validate.hpp"
#include "sluice/graph/liveness.hpp"

namespace sluice::graph {
namespace {

// conv -> batch norm -> SiLU -> conv, as in EfficientNet: the convolution's weights need the SiLU's result, the SiLU's
// gradient needs the norm's.
Graph network(UnaryFunction function = UnaryFunction::kSilu) {
  GraphBuilder builder("net");
  builder.begin_layer("input");
  TensorId x = builder.input(2, 4, 8, 8, 10);
  builder.begin_layer("first");
  x = builder.unary(builder.batch_norm(builder.conv2d(x, {.out_channels = 4})), function);
  builder.begin_layer("second");
  x = builder.conv2d(x, {.out_channels = 4});
  builder.begin_layer("fc");
  builder.softmax_cross_entropy(builder.dense(x, 10));
  return std::move(builder.finish()).value();
}

OpIndex index_of(const Graph& graph, OpKind kind, Phase phase) {
  for (OpIndex i = 0; i < graph.op_count(); ++i) {
    if (graph.op(i).kind == kind && graph.op(i).phase == phase) return i;
  }
  return -1;
}

int backward_count(const Graph& graph, OpKind kind) {
  return static_cast<int>(std::count_if(graph.ops().begin(), graph.ops().end(),
                                        [&](const Op& op) { return op.kind == kind && op.phase == Phase::kBackward; }));
}

Interval<OpIndex> range(const Graph& graph, TensorId id) { return analyze_liveness(graph).ranges[as_index(id)]; }

TEST(Rematerialize, MakesAChainAgainFromWhatIsKept) {
  const Graph graph = build_training_graph(network(), {});
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  const OpIndex apply = index_of(graph, OpKind::kBatchNormApply, Phase::kBackward);
  const OpIndex silu = index_of(graph, OpKind::kUnary, Phase::kBackward);
  const OpIndex weights = index_of(graph, OpKind::kConv2dBackwardWeights, Phase::kBackward);
  const OpIndex norm = index_of(graph, OpKind::kBatchNorm, Phase::kForward);
  ASSERT_GT(apply, 0);
  EXPECT_EQ(silu, apply + 1);
  EXPECT_EQ(weights, silu + 1) << "directly before the first reader";
  EXPECT_EQ(graph.op(apply).layer, graph.op(weights).layer);
  EXPECT_EQ(graph.op(apply).inputs,
            (std::vector<TensorId>{graph.op(norm).inputs[0], graph.op(norm).inputs[1], graph.op(norm).outputs[1]}));
  EXPECT_EQ(graph.op(apply).as<NormAttributes>().epsilon, graph.op(norm).as<NormAttributes>().epsilon);
  EXPECT_EQ(graph.op(silu).inputs, graph.op(apply).outputs);
  EXPECT_EQ(graph.op(weights).inputs[0], graph.op(silu).outputs[0]);
  EXPECT_EQ(graph.tensor(graph.op(apply).outputs[0]).name, "first.batch_norm.again");
}

TEST(Rematerialize, OneCopyServesAllBackwardReaders) {
  const Graph graph = build_training_graph(network(), {});
  const OpIndex apply = index_of(graph, OpKind::kBatchNormApply, Phase::kBackward);
  const OpIndex gradient = index_of(graph, OpKind::kUnaryBackward, Phase::kBackward);
  EXPECT_EQ(graph.op(gradient).inputs[0], graph.op(apply).outputs[0]);
  EXPECT_EQ(backward_count(graph, OpKind::kBatchNormApply), 1);
}

TEST(Rematerialize, ForwardActivationsDieInTheForwardPass) {
  const Graph graph = build_training_graph(network(), {});
  const OpIndex loss = index_of(graph, OpKind::kSoftmaxCrossEntropy, Phase::kForward);
  for (const OpKind kind : {OpKind::kBatchNorm, OpKind::kUnary}) {
    EXPECT_LT(range(graph, graph.op(index_of(graph, kind, Phase::kForward)).outputs[0]).end, loss);
  }
  const Graph keeping = build_training_graph(network(), {.rematerialize = Rematerialize::kNothing});
  EXPECT_EQ(backward_count(keeping, OpKind::kBatchNormApply), 0);
  EXPECT_GT(range(keeping, keeping.op(index_of(keeping, OpKind::kUnary, Phase::kForward)).outputs[0]).end, loss);
}

TEST(Rematerialize, KeepsAResultThatItsOwnGradientNeeds) {
  const Graph graph = build_training_graph(network(UnaryFunction::kTanh), {});
  EXPECT_EQ(backward_count(graph, OpKind::kUnary), 0);
  EXPECT_EQ(backward_count(graph, OpKind::kBatchNormApply), 0) << "nobody reads the norm's result later";
}

TEST(Rematerialize, KeepsAResultWithAResidual) {
  GraphBuilder builder("net");
  builder.begin_layer("all");
  TensorId x = builder.conv2d(builder.input(2, 4, 8, 8, 10), {.out_channels = 4});
  const TensorId scale_shift = builder.named_parameter("s", {2, 4}, {});
  const TensorId running = builder.named_parameter("r", {2, 4}, {}, Role::kBuffer);
  x = builder.add(OpKind::kBatchNorm, {}, {builder.conv2d(x, {.out_channels = 4}), scale_shift, running, x});
  builder.softmax_cross_entropy(builder.dense(builder.conv2d(x, {.out_channels = 4}), 10));
  const Graph graph = build_training_graph(std::move(builder.finish()).value(), {});
  EXPECT_EQ(backward_count(graph, OpKind::kBatchNormApply), 0);
}

// Attention's probabilities are kept for the softmax's own gradient, so dropout can be repeated on them; a layer norm's
// input is kept for its own.
TEST(Rematerialize, RepeatsDropoutAndLayerNorms) {
  GraphBuilder builder("net");
  builder.begin_layer("all");
  const auto data = builder.inputs({{"x", Content::kNoise, {2, 5, 8}}});
  const TensorId x = builder.layer_norm(builder.dense(data[0], 8));
  const TensorId scores = builder.matmul(builder.dense(x, 5), builder.dense(x, 5));
  const TensorId kept = builder.dropout(builder.softmax(scores), 0.5F);
  builder.sigmoid_cross_entropy(builder.matmul(kept, builder.dense(x, 8)), 1);
  const Graph graph = build_training_graph(std::move(builder.finish()).value(), {});
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  const OpIndex dropout = index_of(graph, OpKind::kDropout, Phase::kForward);
  const OpIndex again = index_of(graph, OpKind::kDropout, Phase::kBackward);
  EXPECT_EQ(graph.op(again).name, graph.op(dropout).name + ".again");
  EXPECT_EQ(graph.op(again).attributes, graph.op(dropout).attributes) << "the same draws";
  EXPECT_EQ(graph.op(again + 1).inputs[0], graph.op(again).outputs[0]);

  const Op& norm = graph.op(index_of(graph, OpKind::kLayerNorm, Phase::kForward));
  const Op& norm_again = graph.op(index_of(graph, OpKind::kLayerNorm, Phase::kBackward));
  EXPECT_EQ(backward_count(graph, OpKind::kLayerNorm), 1);
  EXPECT_EQ(norm_again.inputs, norm.inputs);
  const Op& gradient = graph.op(index_of(graph, OpKind::kLayerNormBackward, Phase::kBackward));
  EXPECT_EQ(gradient.inputs[3], norm.outputs[1]) << "from the first statistics";
  for (const Op& op : graph.ops()) {
    if (op.phase != Phase::kBackward) continue;
    EXPECT_EQ(std::count(op.inputs.begin(), op.inputs.end(), norm.outputs[0]), 0) << op.name;
  }
}

// q, k and v are kept for the products' own gradients; scores, probabilities and what attention gives are made from them.
Graph attention(std::int64_t tokens) {
  GraphBuilder builder("net");
  builder.begin_layer("all");
  const TensorId x = builder.inputs({{"x", Content::kNoise, {8, tokens, 64}}})[0];
  const TensorId scores = builder.matmul(builder.dense(x, 64), builder.transpose(builder.dense(x, 64), {0, 2, 1}));
  const TensorId y = builder.matmul(builder.softmax(scores), builder.dense(x, 64));
  builder.sigmoid_cross_entropy(builder.dense(builder.reshape(y, {8 * tokens, 64}), 64), 1);
  return std::move(builder.finish()).value();
}

std::vector<std::string> rematerialized(const Graph& forward) {
  const Graph graph = build_training_graph(forward, {.rematerialize = Rematerialize::kChains});
  EXPECT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  std::vector<std::string> names;
  for (const Op& op : graph.ops()) {
    if (op.name.ends_with(".again")) names.push_back(op.name.substr(op.name.find('.') + 1));
  }
  return names;
}

TEST(RematerializeChains, AttentionIsMadeAgainFromWhatItIsOf) {
  EXPECT_EQ(rematerialized(attention(128)),
            (std::vector<std::string>{"matmul.again", "softmax.again", "matmul_2.again", "reshape.again"}));
}

// What a long sequence's attention gives takes as many products as a dense layer's result.
TEST(RematerializeChains, ALargeProductIsKept) {
  EXPECT_EQ(rematerialized(attention(512)), (std::vector<std::string>{"matmul.again", "softmax.again"}));
}

TEST(RematerializeChains, NothingIsMadeAgainWithoutThem) {
  const Graph graph = build_training_graph(attention(128), {});
  EXPECT_TRUE(
      std::none_of(graph.ops().begin(), graph.ops().end(), [](const Op& op) { return op.name.ends_with(".again"); }));
}

// Residual blocks, each the norm of a convolution and the block before.
Graph residual(int blocks) {
  GraphBuilder builder("net");
  builder.begin_layer("input");
  TensorId x = builder.inputs({{"x", Content::kNoise, {2, 4, 8, 8}}})[0];
  for (int block = 0; block < blocks; ++block) {
    builder.begin_layer(fmt::format("{}", block));
    const TensorId scale_shift = builder.named_parameter("scale_shift", {2, 4}, {});
    const TensorId running = builder.named_parameter("running", {2, 4}, {}, Role::kBuffer);
    const TensorId y = builder.conv2d(x, {.out_channels = 4, .kernel = 3, .padding = 1});
    x = builder.add(OpKind::kBatchNorm, NormAttributes{.activation = Activation::kRelu}, {y, scale_shift, running, x});
  }
  builder.begin_layer("last");
  builder.sigmoid_cross_entropy(builder.conv2d(x, {.out_channels = 1}), 1);
  return std::move(builder.finish()).value();
}

TEST(RematerializeChains, OneOfSixBlocksIsKept) {
  EXPECT_EQ(rematerialized(residual(3)).size(), 3U);
  EXPECT_EQ(rematerialized(residual(12)).size(), 10U);
}

// Its inputs are needed by nobody else; what they are made of is.
TEST(RematerializeChains, AConcatenationIsMadeAgainWithItsParts) {
  GraphBuilder builder("net");
  builder.begin_layer("all");
  const TensorId x = builder.input(2, 4, 8, 8, 10);
  const auto branch = [&] { return builder.batch_norm(builder.conv2d(x, {.out_channels = 4})); };
  const TensorId first = branch();
  const TensorId y = builder.concat({first, branch()}, 1);
  builder.softmax_cross_entropy(builder.dense(builder.conv2d(y, {.out_channels = 4}), 10));
  EXPECT_EQ(rematerialized(std::move(builder.finish()).value()),
            (std::vector<std::string>{"batch_norm.again", "batch_norm_2.again", "concat.again"}));
}

TEST(RematerializeChains, TheGradientOfWeightsComesFirst) {
  const Graph graph = build_training_graph(residual(3), {.rematerialize = Rematerialize::kChains});
  for (OpIndex index = 0; index < graph.op_count(); ++index) {
    if (graph.op(index).kind == OpKind::kConv2dBackwardData) {
      EXPECT_EQ(graph.op(index - 1).kind, OpKind::kConv2dBackwardWeights) << graph.op(index - 1).name;
    }
  }
}

// The gradient of W in W W^T is the data's with the weights' added: in that order.
TEST(RematerializeChains, TheGradientOfWhatIsMultipliedByItselfStaysInOrder) {
  GraphBuilder builder("net");
  builder.begin_layer("all");
  const TensorId weight = builder.named_parameter("weight", {8, 8}, {});
  builder.sigmoid_cross_entropy(builder.add(OpKind::kDense, {}, {weight, weight}), 1);
  const Graph forward = std::move(builder.finish()).value();
  const Graph graph = build_training_graph(forward, {.rematerialize = Rematerialize::kChains});
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  const OpIndex data = index_of(graph, OpKind::kDenseBackwardData, Phase::kBackward);
  EXPECT_LT(data, index_of(graph, OpKind::kDenseBackwardWeights, Phase::kBackward));
}

// Stage a trains a norm. Stage b trains the convolution behind it, which runs in stage a or b.
Graph two_stages(bool convolution_first) {
  GraphBuilder builder("net");
  builder.begin_layer("a");
  const TensorId x = builder.batch_norm(builder.conv2d(builder.input(2, 4, 8, 8, 10), {.out_channels = 4}));
  const TensorId weight = builder.named_parameter("b.weight", {4, 4, 1, 1}, {});
  ConvolutionAttributes attributes;
  attributes.window = square_window(1);
  TensorId y = convolution_first ? builder.add(OpKind::kConv2d, attributes, {x, weight}) : x;
  builder.softmax_cross_entropy(builder.dense(builder.global_avg_pool(x), 10));
  builder.end_stage("a");
  builder.begin_layer("b");
  if (!convolution_first) y = builder.add(OpKind::kConv2d, attributes, {x, weight});
  builder.softmax_cross_entropy(builder.dense(y, 10));
  builder.end_stage("b");
  return std::move(builder.finish()).value();
}

TEST(Rematerialize, NeverFromParametersThatAreNewByThen) {
  const Graph graph = build_training_graph(two_stages(true), {});
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  EXPECT_EQ(backward_count(graph, OpKind::kBatchNormApply), 0);
}

TEST(Rematerialize, NotWhereALaterForwardOpKeepsTheResult) {
  const Graph graph = build_training_graph(two_stages(false), {});
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  EXPECT_EQ(backward_count(graph, OpKind::kBatchNormApply), 0);
}

}  // namespace
}  // namespace sluice::graph
