#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/summary.hpp"
#include "sluice/models/model.hpp"

namespace sluice::models {
namespace {

graph::Graph build_or_die(std::string_view name, const ModelOptions& options = {}) {
  return std::move(build_model(name, options)).value();
}

std::int64_t ops_of_kind(const graph::Graph& graph, graph::OpKind kind) {
  return std::ranges::count(graph.ops(), kind, &graph::Op::kind);
}

std::vector<graph::Shape> results_of(const graph::Graph& graph, graph::OpKind kind) {
  std::vector<graph::Shape> shapes;
  for (const graph::Op& op : graph.ops()) {
    if (op.kind == kind) shapes.push_back(graph.tensor(op.outputs[0]).shape);
  }
  return shapes;
}

const graph::Tensor& tensor_named(const graph::Graph& graph, const std::string& name) {
  return *std::ranges::find(graph.tensors(), name, &graph::Tensor::name);
}

std::vector<graph::Content> contents(const graph::Graph& graph) {
  std::vector<graph::Content> found;
  for (const graph::TensorId id : graph.op(0).outputs) found.push_back(graph.tensor(id).content);
  return found;
}

TEST(Lstm, UnrollsEachLayerOverTheSequence) {
  const graph::Graph graph = build_or_die("lstm", {.batch = 4, .classes = 50, .sequence = 6, .width = 8, .depth = 3});
  EXPECT_EQ(results_of(graph, graph::OpKind::kLstmCell), std::vector<graph::Shape>(3 * 6, graph::Shape{4, 8}));
  EXPECT_EQ(results_of(graph, graph::OpKind::kEmbedding), (std::vector<graph::Shape>{{4, 6, 8}}));
  EXPECT_EQ(graph.tensor(graph.ops().back().inputs[0]).shape, (graph::Shape{4, 6, 50}));
  EXPECT_EQ(contents(graph), (std::vector{graph::Content::kTokens, graph::Content::kNextTokens}));
}

TEST(Lstm, DropsBeforeAndAfterEachLayer) {
  EXPECT_EQ(ops_of_kind(build_or_die("lstm"), graph::OpKind::kDropout), 3);
  EXPECT_EQ(ops_of_kind(build_or_die("lstm", {.dropout = 0}), graph::OpKind::kDropout), 0);
}

TEST(Bert, KeepsScoreMatricesAsTensors) {
  const graph::Graph graph = build_or_die("bert_base", {.batch = 2});
  EXPECT_EQ(results_of(graph, graph::OpKind::kSoftmax), std::vector<graph::Shape>(12, graph::Shape{2, 12, 128, 128}));
  EXPECT_EQ(ops_of_kind(graph, graph::OpKind::kMatMul), 2 * 12);
  EXPECT_EQ(ops_of_kind(graph, graph::OpKind::kLayerNorm), 1 + 2 * 12 + 1);
  EXPECT_EQ(contents(graph),
            (std::vector{graph::Content::kMaskedTokens, graph::Content::kSegments, graph::Content::kHiddenTokens}));
  for (const graph::Op& op : graph.ops()) {
    if (op.kind != graph::OpKind::kSoftmax) continue;
    EXPECT_FALSE(op.as<graph::SoftmaxAttributes>().causal);
    EXPECT_FLOAT_EQ(op.as<graph::SoftmaxAttributes>().factor, 0.125F);
  }
}

TEST(Bert, DecodesWithTheWordEmbeddingsAndABias) {
  const graph::Graph graph = build_or_die("bert_large", {.classes = 100, .sequence = 16, .depth = 1});
  const graph::Op& loss = graph.ops().back();
  const graph::Op& decoder = graph.op(graph.op_count() - 2);
  ASSERT_EQ(decoder.kind, graph::OpKind::kDense);
  EXPECT_EQ(graph.tensor(decoder.inputs[1]).name, "word_embeddings.weight");
  EXPECT_EQ(graph.tensor(decoder.inputs[2]).name, "decoder.bias");
  EXPECT_EQ(graph.tensor(loss.inputs[0]).shape, (graph::Shape{1, 16, 100}));
}

TEST(Bert, DropsAfterEmbeddingsScoresAndBothProjections) {
  EXPECT_EQ(ops_of_kind(build_or_die("bert_base"), graph::OpKind::kDropout), 1 + 3 * 12);
}

TEST(Gpt2, SeesOnlyEarlierTokens) {
  const graph::Graph graph = build_or_die("gpt2_small", {.batch = 2, .sequence = 64});
  EXPECT_EQ(results_of(graph, graph::OpKind::kSoftmax), std::vector<graph::Shape>(12, graph::Shape{2, 12, 64, 64}));
  for (const graph::Op& op : graph.ops()) {
    if (op.kind == graph::OpKind::kSoftmax) {
      EXPECT_TRUE(op.as<graph::SoftmaxAttributes>().causal);
    }
    if (op.kind == graph::OpKind::kUnary) {
      EXPECT_EQ(op.as<graph::UnaryAttributes>().function, graph::UnaryFunction::kGeluTanh);
    }
  }
  EXPECT_EQ(contents(graph), (std::vector{graph::Content::kTokens, graph::Content::kNextTokens}));
  EXPECT_EQ(graph.tensor(graph.ops().back().inputs[0]).shape, (graph::Shape{2, 64, 50257}));
}

TEST(Gpt2, DecodesWithTheEmbeddings) {
  const graph::Graph graph = build_or_die("gpt2_small", {.classes = 100, .sequence = 16, .depth = 1});
  const graph::Op& decoder = graph.op(graph.op_count() - 2);
  ASSERT_EQ(decoder.kind, graph::OpKind::kDense);
  ASSERT_EQ(decoder.inputs.size(), 2U);
  EXPECT_EQ(graph.tensor(decoder.inputs[1]).name, "embeddings.weight");
}

TEST(Gpt2, StartsResidualProjectionsSmallerTheDeeperItIs) {
  const graph::Graph graph = build_or_die("gpt2_small", {.depth = 8});
  EXPECT_FLOAT_EQ(tensor_named(graph, "layer0.query.weight").init.stddev, 0.02F);
  EXPECT_FLOAT_EQ(tensor_named(graph, "layer0.attention_output.weight").init.stddev, 0.02F / 4);
  EXPECT_FLOAT_EQ(tensor_named(graph, "layer7.output.weight").init.stddev, 0.02F / 4);
  EXPECT_FLOAT_EQ(tensor_named(graph, "layer7.intermediate.weight").init.stddev, 0.02F);
  EXPECT_FLOAT_EQ(tensor_named(graph, "embeddings.positions").init.stddev, 0.01F);
}

// Each block has 12 h^2 weights (4 of attention, 8 of the perceptron) and 13 h of biases and norms; beside the blocks
// are the embeddings of tokens and positions and a last norm.
TEST(Gpt2, SizesOfZeroOffloadHaveTheParametersOfTheirShapes) {
  int checked = 0;
  for (const ModelEntry& entry : models()) {
    if (!entry.name.starts_with("gpt2_") || !entry.name.ends_with("b")) continue;
    const ModelOptions& shape = entry.defaults;
    const std::int64_t h = shape.width;
    const std::int64_t expected = shape.depth * (12 * h * h + 13 * h) + (shape.classes + shape.sequence) * h + 2 * h;
    const std::int64_t parameters = graph::summarize(build_or_die(entry.name)).parameters;
    EXPECT_EQ(parameters, expected) << entry.name;
    EXPECT_EQ(parameters / 1'000'000'000, std::stoll(entry.name.substr(5))) << "the name is in whole billions";
    ++checked;
  }
  EXPECT_EQ(checked, 14);
}

TEST(Dcgan, TrainsDiscriminatorThenGenerator) {
  const graph::Graph forward = build_or_die("dcgan", {.batch = 2});
  ASSERT_EQ(forward.stages.size(), 2U);
  for (const auto& [stage, prefix] : {std::pair(0, "discriminator."), std::pair(1, "generator.")}) {
    const std::vector<graph::TensorId>& trained = forward.stages[as_index(stage)].trained;
    EXPECT_FALSE(trained.empty());
    for (const graph::TensorId id : trained)
      EXPECT_TRUE(forward.tensor(id).name.starts_with(prefix)) << forward.tensor(id).name;
  }
  const graph::Graph training = graph::build_training_graph(forward, {});
  std::set<std::string> trained_first;
  std::set<std::string> trained_later;
  bool answered = false;
  for (const graph::Op& op : training.ops()) {
    answered = answered || training.layers[as_index(op.layer)].ends_with(".answer");
    if (op.phase != graph::Phase::kUpdate) continue;
    const std::string& name = training.tensor(op.outputs[0]).name;
    EXPECT_TRUE(name.starts_with(answered ? "generator." : "discriminator.")) << name;
    EXPECT_TRUE((answered ? trained_later : trained_first).insert(name).second) << name << " is updated twice";
  }
  EXPECT_EQ(trained_first.size(), 5U + 3U);  // convolutions and norms
  EXPECT_EQ(trained_later.size(), 5U + 4U);
}

TEST(Dcgan, HasThreeLosses) {
  const graph::Graph graph = build_or_die("dcgan");
  std::vector<float> targets;
  for (const graph::Op& op : graph.ops()) {
    if (op.kind == graph::OpKind::kSigmoidCrossEntropy) targets.push_back(op.as<graph::TargetAttributes>().target);
  }
  EXPECT_EQ(targets, (std::vector<float>{1, 0, 1}));
  EXPECT_EQ(contents(graph), (std::vector{graph::Content::kImages, graph::Content::kNoise}));
}

TEST(Dcgan, MakesImagesOfTheAskedSize) {
  for (const std::int64_t side : {8, 32, 64, 128}) {
    const std::vector<graph::Shape> maps =
        results_of(build_or_die("dcgan", {.batch = 2, .image_size = side}), graph::OpKind::kConvTranspose2d);
    EXPECT_EQ(maps.front()[3], 4);
    EXPECT_EQ(maps.back(), (graph::Shape{2, 3, side, side}));
  }
  EXPECT_EQ(results_of(build_or_die("dcgan"), graph::OpKind::kConvTranspose2d).front(), (graph::Shape{1, 512, 4, 4}));
}

}  // namespace
}  // namespace sluice::models
