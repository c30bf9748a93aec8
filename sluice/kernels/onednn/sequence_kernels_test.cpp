// Networks of the sizes where kernels cut their work into blocks and parts, which the small op cases do not reach; and
// images in blocked layouts, which only a network hands on from op to op.
#include <gtest/gtest.h>

#include <cstring>

#include "sluice/graph/builder/builder.hpp"
#include "sluice/graph/rewrite/prepare.hpp"
#include "sluice/kernels/backend.hpp"
#include "sluice/kernels/backends/backends.hpp"
#include "sluice/testing/training_run.hpp"
#include "sluice/testing/wave_input.hpp"

namespace sluice::kernels {
namespace {

constexpr std::uint64_t kSequenceSeed = 20240611;

graph::Graph finished(graph::GraphBuilder builder) {
  auto graph = builder.finish();
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().message);
  return std::move(graph).value();
}

graph::TensorId heads_of(graph::GraphBuilder& builder, graph::TensorId x, std::int64_t heads) {
  const graph::Shape shape = builder.shape(x);
  const std::int64_t features = shape[2] / heads;
  return builder.transpose(builder.reshape(x, {shape[0], shape[1], heads, features}), {0, 2, 1, 3});
}

// One block of a transformer over sequences of 70 tokens, with 330 features in 3 heads.
graph::Graph transformer() {
  constexpr std::int64_t kBatch = 3, kLength = 70, kFeatures = 330, kHeads = 3, kVocabulary = 4500;
  graph::GraphBuilder builder("transformer");
  builder.begin_layer("input");
  const auto data = builder.inputs({{"tokens", graph::Content::kTokens, {kBatch, kLength}, kVocabulary},
                                    {"next", graph::Content::kNextTokens, {kBatch, kLength}, kVocabulary}});
  builder.begin_layer("block");
  builder.weight_init(0.05F);
  graph::TensorId x = builder.dropout(builder.embedding(data[0], kVocabulary, kFeatures), 0.2F);
  const graph::TensorId normed = builder.layer_norm(x);
  const graph::TensorId queries = heads_of(builder, builder.dense(normed, kFeatures), kHeads);
  const graph::TensorId keys = heads_of(builder, builder.dense(normed, kFeatures), kHeads);
  const graph::TensorId values = heads_of(builder, builder.dense(normed, kFeatures), kHeads);
  const graph::TensorId scores = builder.matmul(queries, builder.transpose(keys, {0, 1, 3, 2}));
  const graph::TensorId attended = builder.matmul(builder.dropout(builder.softmax(scores, 0.1F, true), 0.1F), values);
  x = builder.add(
      x, builder.dense(builder.reshape(builder.transpose(attended, {0, 2, 1, 3}), {kBatch, kLength, kFeatures}),
                       kFeatures));
  x = builder.add(x, builder.dense(builder.gelu(builder.dense(builder.layer_norm(x), 700)), kFeatures));
  builder.begin_layer("loss");
  builder.softmax_cross_entropy(builder.dense(x, kVocabulary), data[1]);
  return finished(std::move(builder));
}

graph::Graph recurrent() {
  constexpr std::int64_t kSteps = 6, kBatch = 9, kHidden = 130, kVocabulary = 60;
  graph::GraphBuilder builder("recurrent");
  builder.begin_layer("input");
  const auto data = builder.inputs({{"tokens", graph::Content::kTokens, {kBatch, kSteps}, kVocabulary},
                                    {"next", graph::Content::kNextTokens, {kBatch, kSteps}, kVocabulary}});
  builder.begin_layer("lstm");
  builder.weight_init(0.05F);
  graph::TensorId x = builder.transpose(builder.embedding(data[0], kVocabulary, kHidden), {1, 0, 2});
  x = builder.transpose(builder.lstm(builder.lstm(x, kHidden), kHidden), {1, 0, 2});
  builder.begin_layer("loss");
  builder.softmax_cross_entropy(builder.dense(x, kVocabulary), data[1]);
  return finished(std::move(builder));
}

// Squeeze and excitation on blocked images: means of pixels, functions of channels, products of images and channels.
graph::Graph squeeze_and_excitation() {
  graph::GraphBuilder builder("excitation");
  builder.begin_layer("input");
  graph::TensorId x = builder.input(3, 3, 12, 12, 10);
  builder.begin_layer("excitation");
  x = builder.relu(builder.conv2d(x, {.out_channels = 32, .kernel = 3, .padding = 1, .bias = true}));
  const graph::TensorId means = builder.reduce(x, graph::ReduceFunction::kMean, {2, 3});
  const graph::TensorId gates = builder.unary(builder.conv2d(means, {.out_channels = 32, .bias = true}),
                                              graph::UnaryFunction::kHardSigmoid, 0.2F, 0.5F);
  x = builder.binary(x, gates, graph::BinaryFunction::kMultiply);
  const graph::TensorId pixel_means = builder.reduce(x, graph::ReduceFunction::kMean, {1});
  x = builder.binary(builder.unary(x, graph::UnaryFunction::kSilu), pixel_means, graph::BinaryFunction::kAdd);
  x = builder.dropout(x, 0.3F);
  builder.begin_layer("loss");
  builder.softmax_cross_entropy(builder.dense(x, 10));
  return finished(std::move(builder));
}

struct Network {
  std::string name;
  graph::Graph (*build)();
};

class SequenceKernels : public ::testing::TestWithParam<Network> {};

TEST_P(SequenceKernels, TrainAsTheReference) {
  const graph::Graph graph = graph::prepare_training_graph(GetParam().build(), {.optimizer = graph::Optimizer::kSgd});
  const testing::TrainingRun run{.steps = 2, .learning_rate = 0.05F, .seed = kSequenceSeed};
  const testing::NamedValues actual = testing::trained(*testing::compiled(make_onednn_backend(), graph, 2), run);
  EXPECT_EQ(
      testing::farthest(actual, testing::trained(*testing::compiled(make_reference_backend(), graph, 1), run), 2e-4),
      "");
}

// Loops of our own promise more than the backend: the number of threads changes no bit.
TEST_P(SequenceKernels, LoopsGiveTheSameBitsOnAnyNumberOfThreads) {
  const graph::Graph graph = graph::prepare_training_graph(GetParam().build(), {.optimizer = graph::Optimizer::kAdamW});
  const auto one = testing::compiled(make_onednn_backend(), graph, 1);
  const auto three = testing::compiled(make_onednn_backend(), graph, 3);
  testing::GraphRunner first(*one);
  testing::GraphRunner second(*three);
  first.initialise(kSequenceSeed);
  testing::WaveInput input(one->graph());
  const StepContext context{.step = 1, .learning_rate = 0.05F, .input = &input, .seed = kSequenceSeed};
  ASSERT_EQ(one->graph().op_count(), three->graph().op_count());
  for (graph::OpIndex index = 0; index < one->graph().op_count(); ++index) {
    const graph::Op& op = one->graph().op(index);
    const graph::Op& same = three->graph().op(index);
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const auto bytes = first.bytes(op.inputs[i]);
      std::memcpy(second.data(same.inputs[i]), bytes.data(), bytes.size());
    }
    first.run_op(index, context);
    if (op.implementations.at(0).name != "loop") continue;
    second.run_op(index, context);
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      if (one->graph().tensor(op.outputs[i]).role == graph::Role::kWorkspace) continue;
      const auto bytes = first.bytes(op.outputs[i]);
      EXPECT_EQ(std::memcmp(bytes.data(), second.data(same.outputs[i]), bytes.size()), 0) << op.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, SequenceKernels,
                         ::testing::Values(Network{"transformer", transformer}, Network{"recurrent", recurrent},
                                           Network{"excitation", squeeze_and_excitation}),
                         [](const auto& tested) { return tested.param.name; });

// What makes attention fast: heads are read and written where they lie, and nothing is copied.
TEST(SequenceLowering, AttentionMovesNothing) {
  const graph::Graph graph = graph::prepare_training_graph(transformer(), {});
  const auto attention = testing::compiled(make_onednn_backend(), graph, 2);
  for (const graph::Op& op : attention->graph().ops()) {
    EXPECT_NE(op.kind, graph::OpKind::kReorder) << op.name;
    EXPECT_NE(op.kind, graph::OpKind::kTranspose) << op.name;
    EXPECT_EQ(op.implementations.at(0).name.find("ref"), std::string::npos) << op.name;
  }
}

}  // namespace
}  // namespace sluice::kernels
