#include "sluice/graph/rewrite/fold.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sluice/graph/builder/builder.hpp"
#include "sluice/graph/builder/validate.hpp"

namespace sluice::graph {
namespace {

using Axes = std::vector<std::int64_t>;

class Fold : public ::testing::Test {
 protected:
  Fold() { builder_.begin_layer("net"); }

  TensorId image(std::int64_t channels = 4) { return builder_.input(2, channels, 6, 6, 10); }

  TensorId noise(const Shape& shape) {
    return builder_.inputs({{"x", Content::kNoise, shape, 0}, {"labels", Content::kLabels, {2}, 10}})[0];
  }

  // Ends the network with losses of `tensors`, and folds it.
  Graph folded(const std::vector<TensorId>& tensors) {
    for (const TensorId tensor : tensors) builder_.sigmoid_cross_entropy(tensor, 1);
    Result<Graph> graph = builder_.finish();
    EXPECT_TRUE(graph.ok()) << graph.error().message;
    Graph result = fold(*graph);
    const Status valid = validate(result);
    EXPECT_TRUE(valid.ok()) << valid.error().message;
    return result;
  }

  static std::vector<const Op*> ops(const Graph& graph, OpKind kind) {
    std::vector<const Op*> found;
    for (const Op& op : graph.ops()) {
      if (op.kind == kind) found.push_back(&op);
    }
    return found;
  }

  GraphBuilder builder_{"net"};
};

TEST_F(Fold, SinksActivationsBelowAConcat) {
  const TensorId x = image();
  const TensorId a = builder_.relu(builder_.conv2d(x, {.out_channels = 8}));
  const TensorId b = builder_.conv2d(x, {.out_channels = 8, .activation = Activation::kRelu});
  const Graph graph = folded({builder_.concat({a, b}, 1)});
  EXPECT_TRUE(ops(graph, OpKind::kRelu).empty());
  for (const Op* conv : ops(graph, OpKind::kConv2d)) EXPECT_EQ(fused_activation(conv->attributes), Activation::kNone);
  ASSERT_EQ(ops(graph, OpKind::kConcat).size(), 1U);
  EXPECT_EQ(fused_activation(ops(graph, OpKind::kConcat)[0]->attributes), Activation::kRelu);
}

TEST_F(Fold, SinksReluBelowAMaxPool) {
  const TensorId x = builder_.relu(builder_.conv2d(image(), {.out_channels = 8}));
  const Graph graph = folded({builder_.max_pool(x, {})});
  EXPECT_TRUE(ops(graph, OpKind::kRelu).empty());
  EXPECT_EQ(fused_activation(ops(graph, OpKind::kConv2d)[0]->attributes), Activation::kNone);
  EXPECT_EQ(fused_activation(ops(graph, OpKind::kMaxPool)[0]->attributes), Activation::kRelu);
}

TEST_F(Fold, SinksNothingBelowAPoolBesideAnotherReader) {
  const TensorId x = builder_.relu(builder_.conv2d(image(), {.out_channels = 8}));
  const Graph graph = folded({builder_.max_pool(x, {}), x});
  EXPECT_EQ(fused_activation(ops(graph, OpKind::kMaxPool)[0]->attributes), Activation::kNone);
}

TEST_F(Fold, SinksNothingThatSomebodyElseReads) {
  const TensorId x = image();
  const TensorId a = builder_.conv2d(x, {.out_channels = 8, .activation = Activation::kRelu});
  const TensorId b = builder_.conv2d(x, {.out_channels = 8, .activation = Activation::kRelu});
  const Graph graph = folded({builder_.concat({a, b}, 1), b});
  EXPECT_EQ(fused_activation(ops(graph, OpKind::kConcat)[0]->attributes), Activation::kNone);
  for (const Op* conv : ops(graph, OpKind::kConv2d)) EXPECT_EQ(fused_activation(conv->attributes), Activation::kRelu);
}

TEST_F(Fold, SinksNothingBelowAConcatOfDifferentActivations) {
  const TensorId x = image();
  const TensorId a = builder_.conv2d(x, {.out_channels = 8, .activation = Activation::kRelu});
  const TensorId b = builder_.conv2d(x, {.out_channels = 8, .activation = Activation::kRelu6});
  const Graph graph = folded({builder_.concat({a, b}, 1)});
  EXPECT_EQ(fused_activation(ops(graph, OpKind::kConcat)[0]->attributes), Activation::kNone);
}

TEST_F(Fold, GivesActivationsToTheOpAbove) {
  const TensorId conv = builder_.relu(builder_.conv2d(image(), {.out_channels = 8, .bias = true}));
  const TensorId norm =
      builder_.unary(builder_.batch_norm(builder_.conv2d(conv, {.out_channels = 8})), UnaryFunction::kClip, 0, 6);
  const TensorId sum = builder_.relu(builder_.add(norm, conv));
  const std::string name = builder_.tensor(conv).name;
  const Graph graph = folded({sum});
  EXPECT_TRUE(ops(graph, OpKind::kRelu).empty());
  EXPECT_TRUE(ops(graph, OpKind::kUnary).empty());
  EXPECT_EQ(fused_activation(ops(graph, OpKind::kConv2d)[0]->attributes), Activation::kRelu);
  EXPECT_EQ(fused_activation(ops(graph, OpKind::kConv2d)[1]->attributes), Activation::kNone);
  EXPECT_EQ(fused_activation(ops(graph, OpKind::kBatchNorm)[0]->attributes), Activation::kRelu6);
  EXPECT_EQ(fused_activation(ops(graph, OpKind::kAdd)[0]->attributes), Activation::kRelu);
  // What the activation made keeps its name.
  EXPECT_EQ(graph.tensor(ops(graph, OpKind::kConv2d)[0]->outputs[0]).name, name);
}

TEST_F(Fold, KeepsAnActivationWhoseInputIsReadTwice) {
  const TensorId conv = builder_.conv2d(image(), {.out_channels = 8});
  const Graph graph = folded({builder_.relu(conv), conv});
  EXPECT_EQ(ops(graph, OpKind::kRelu).size(), 1U);
}

TEST_F(Fold, KeepsOtherClips) {
  const TensorId conv = builder_.conv2d(image(), {.out_channels = 8});
  const Graph graph = folded({builder_.unary(conv, UnaryFunction::kClip, -1, 1)});
  EXPECT_EQ(ops(graph, OpKind::kUnary).size(), 1U);
}

TEST_F(Fold, AddsResidualsInTheLastBatchNorm) {
  const TensorId x = image();
  const TensorId first = builder_.batch_norm(builder_.conv2d(x, {.out_channels = 8}));
  const TensorId second = builder_.batch_norm(builder_.conv2d(x, {.out_channels = 8}));
  const TensorId sum = builder_.add(second, first, Activation::kRelu);
  const std::string name = builder_.tensor(sum).name;
  const Graph graph = folded({sum});
  const auto norms = ops(graph, OpKind::kBatchNorm);
  ASSERT_EQ(norms.size(), 2U);
  EXPECT_EQ(norms[0]->inputs.size(), 3U);
  ASSERT_EQ(norms[1]->inputs.size(), 4U);
  EXPECT_EQ(norms[1]->inputs[3], norms[0]->outputs[0]);
  EXPECT_EQ(fused_activation(norms[1]->attributes), Activation::kRelu);
  EXPECT_EQ(graph.tensor(norms[1]->outputs[0]).name, name);
}

TEST_F(Fold, AddsNoResidualThatIsMadeLater) {
  const TensorId x = image();
  const TensorId norm = builder_.batch_norm(builder_.conv2d(x, {.out_channels = 8}));
  const Graph graph = folded({builder_.add(norm, builder_.conv2d(x, {.out_channels = 8}))});
  EXPECT_EQ(ops(graph, OpKind::kBatchNorm)[0]->inputs.size(), 3U);
}

TEST_F(Fold, ComposesTransposes) {
  const TensorId x = noise({2, 3, 4, 5});
  const TensorId y = builder_.transpose(builder_.transpose(x, {0, 2, 3, 1}), {0, 3, 2, 1});
  const Graph graph = folded({y});
  const auto transposes = ops(graph, OpKind::kTranspose);
  ASSERT_EQ(transposes.size(), 1U);
  EXPECT_EQ(transposes[0]->as<TransposeAttributes>().axes, (Axes{0, 1, 3, 2}));
  EXPECT_EQ(graph.tensor(transposes[0]->outputs[0]).shape, (Shape{2, 3, 5, 4}));
}

TEST_F(Fold, ReshapesInsteadOfMovingExtentsOfOne) {
  const TensorId x = noise({2, 1, 4, 5});
  const TensorId y = builder_.reshape(builder_.transpose(x, {0, 2, 1, 3}), {2, 20});
  const Graph graph = folded({y});
  EXPECT_TRUE(ops(graph, OpKind::kTranspose).empty());
  ASSERT_EQ(ops(graph, OpKind::kReshape).size(), 1U);
  EXPECT_EQ(ops(graph, OpKind::kReshape)[0]->as<ShapeAttributes>().shape, (Shape{2, 20}));
}

TEST_F(Fold, RemovesTransposesThatUndoEachOther) {
  const TensorId x = noise({2, 3, 4, 5});
  const Graph graph = folded({builder_.transpose(builder_.transpose(x, {0, 2, 3, 1}), {0, 3, 1, 2})});
  EXPECT_TRUE(ops(graph, OpKind::kTranspose).empty());
  EXPECT_TRUE(ops(graph, OpKind::kReshape).empty());
}

// Attention as models write it: heads split off and moved before the positions.
TEST_F(Fold, FoldsTransposesIntoProducts) {
  const TensorId x = noise({2, 6, 8});
  const auto heads = [&](const Axes& axes) { return builder_.transpose(builder_.reshape(x, {2, 6, 2, 4}), axes); };
  const TensorId scores = builder_.matmul(heads({0, 2, 1, 3}), heads({0, 2, 3, 1}), 0.5F);
  const TensorId mixed = builder_.matmul(builder_.softmax(scores), heads({0, 2, 1, 3}));
  const Graph graph = folded({builder_.reshape(builder_.transpose(mixed, {0, 2, 1, 3}), {2, 6, 8})});
  EXPECT_TRUE(ops(graph, OpKind::kTranspose).empty());
  const auto products = ops(graph, OpKind::kMatMul);
  ASSERT_EQ(products.size(), 2U);
  EXPECT_EQ(products[0]->as<ProductAttributes>().perm_a, (Axes{0, 2, 1, 3}));
  EXPECT_EQ(products[0]->as<ProductAttributes>().perm_b, (Axes{0, 2, 3, 1}));
  EXPECT_TRUE(products[0]->as<ProductAttributes>().perm_y.empty());
  EXPECT_EQ(products[1]->as<ProductAttributes>().perm_b, (Axes{0, 2, 1, 3}));
  EXPECT_EQ(products[1]->as<ProductAttributes>().perm_y, (Axes{0, 2, 1, 3}));
  EXPECT_EQ(graph.tensor(products[1]->outputs[0]).shape, (Shape{2, 6, 2, 4}));
}

TEST_F(Fold, KeepsATransposeThatAnotherOpReads) {
  const TensorId x = noise({2, 6, 8});
  const TensorId t = builder_.transpose(x, {0, 2, 1});
  const Graph graph = folded({builder_.matmul(t, x), t});
  EXPECT_EQ(ops(graph, OpKind::kTranspose).size(), 1U);
  EXPECT_TRUE(ops(graph, OpKind::kMatMul)[0]->as<ProductAttributes>().perm_a.empty());
}

TEST_F(Fold, KeepsTransposesThatWouldScatterAProductsElements) {
  const TensorId x = noise({2, 6, 8});
  const TensorId t = builder_.transpose(x, {2, 0, 1});  // the product would run over batches of adjacent elements
  const TensorId y = builder_.transpose(builder_.matmul(t, builder_.transpose(t, {0, 2, 1})), {1, 2, 0});
  const Graph graph = folded({y});
  EXPECT_EQ(ops(graph, OpKind::kTranspose).size(), 3U);
}

TEST_F(Fold, FoldsFactors) {
  const TensorId x = noise({2, 6, 6});
  const TensorId scaled = builder_.unary(x, UnaryFunction::kLinear, 3, 0);
  const TensorId scores = builder_.unary(builder_.matmul(scaled, x, 0.5F), UnaryFunction::kLinear, 5, 0);
  const TensorId copy = builder_.relu(scores);
  const Graph graph = folded({builder_.softmax(builder_.unary(copy, UnaryFunction::kLinear, 7, 0), 2)});
  EXPECT_TRUE(ops(graph, OpKind::kUnary).empty());
  EXPECT_EQ(ops(graph, OpKind::kMatMul)[0]->as<ProductAttributes>().factor, 7.5F);
  EXPECT_EQ(ops(graph, OpKind::kSoftmax)[0]->as<SoftmaxAttributes>().factor, 14);
}

TEST_F(Fold, KeepsFactorsWithATerm) {
  const TensorId x = noise({2, 6, 6});
  const Graph graph = folded({builder_.softmax(builder_.unary(x, UnaryFunction::kLinear, 7, 1))});
  EXPECT_EQ(ops(graph, OpKind::kUnary).size(), 1U);
}

TEST_F(Fold, RemovesWhatNobodyReads) {
  const TensorId x = image();
  const TensorId used = builder_.conv2d(x, {.out_channels = 8});
  const TensorId unused = builder_.batch_norm(builder_.conv2d(used, {.out_channels = 8}));
  builder_.relu(unused);
  const Graph graph = folded({used});
  EXPECT_EQ(ops(graph, OpKind::kConv2d).size(), 1U);
  EXPECT_TRUE(ops(graph, OpKind::kBatchNorm).empty());
  for (const Tensor& tensor : graph.tensors()) {
    EXPECT_EQ(tensor.name.find("bn"), std::string::npos) << tensor.name;
    EXPECT_NE(tensor.name, "net.weight_2");
  }
  EXPECT_EQ(graph.ops().front().outputs.size(), 2U) << "the step's data stay";
}

TEST_F(Fold, FoldsNothingAcrossStages) {
  const TensorId x = noise({2, 6});
  const TensorId shared = builder_.dense(x, 6);
  const TensorId early = builder_.add(shared, x);
  builder_.sigmoid_cross_entropy(builder_.relu(builder_.add(shared, early)), 1);
  builder_.end_stage("net");
  const TensorId late = builder_.relu(early);
  builder_.sigmoid_cross_entropy(builder_.relu(builder_.add(late, late)), 0);
  builder_.end_stage("b");
  const Graph graph = fold(*builder_.finish());
  ASSERT_EQ(graph.stages.size(), 2U);
  EXPECT_EQ(graph.op(graph.stages[0].end - 1).kind, OpKind::kSigmoidCrossEntropy);
  std::vector<std::string> trained;
  for (const TensorId id : graph.stages[0].trained) trained.push_back(graph.tensor(id).name);
  EXPECT_EQ(trained, (std::vector<std::string>{"net.weight", "net.bias"}));
  EXPECT_EQ(graph.stages[1].end, graph.op_count());
  EXPECT_EQ(ops(graph, OpKind::kRelu).size(), 1U) << "early is made in stage a and activated in stage b";
}

}  // namespace
}  // namespace sluice::graph
