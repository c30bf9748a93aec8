// Steps of several stages or losses, and weights that several ops share.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sluice/graph/autodiff/autodiff.hpp"
#include "sluice/graph/builder/builder.hpp"
#include "sluice/graph/builder/validate.hpp"

namespace sluice::graph {
namespace {

std::vector<std::string> updates(const Graph& graph) {
  std::vector<std::string> names;
  for (const Op& op : graph.ops()) {
    if (op.phase == Phase::kUpdate) names.push_back(graph.tensor(op.inputs[0]).name);
  }
  return names;
}

std::vector<const Op*> ops_of(const Graph& graph, OpKind kind) {
  std::vector<const Op*> ops;
  for (const Op& op : graph.ops()) {
    if (op.kind == kind) ops.push_back(&op);
  }
  return ops;
}

TensorId find(const Graph& graph, const std::string& name) {
  for (TensorId id = 0; id < graph.tensor_count(); ++id) {
    if (graph.tensor(id).name == name) return id;
  }
  return -1;
}

Graph checked(const Graph& graph) {
  const Status status = validate(graph);
  EXPECT_TRUE(status.ok()) << status.error().message;
  return graph;
}

// fake = G(noise); stage 1 trains D on (real, fake), stage 2 trains G through the D that is new.
Graph gan() {
  GraphBuilder builder("gan");
  builder.begin_layer("input");
  const auto data = builder.inputs({{"noise", Content::kNoise, {2, 3}}, {"real", Content::kNoise, {2, 4}}});
  const TensorId g = builder.named_parameter("G.weight", {4, 3}, {});
  const TensorId d = builder.named_parameter("D.weight", {1, 4}, {});
  builder.begin_layer("G");
  const TensorId fake = builder.dense_with(data[0], g);
  builder.begin_layer("D.real");
  builder.sigmoid_cross_entropy(builder.dense_with(data[1], d), 1);
  builder.begin_layer("D.fake");
  builder.sigmoid_cross_entropy(builder.dense_with(fake, d), 0);
  builder.end_stage("D.");
  builder.begin_layer("G.loss");
  builder.sigmoid_cross_entropy(builder.dense_with(fake, d), 1);
  builder.end_stage("G.");
  return std::move(builder.finish()).value();
}

TEST(AutodiffStages, EachStageUpdatesItsOwnParametersBeforeTheNext) {
  const Graph graph = checked(build_training_graph(gan(), {}));
  std::vector<std::string> kinds;
  for (const Op& op : graph.ops()) kinds.emplace_back(to_string(op.kind));
  EXPECT_EQ(kinds, (std::vector<std::string>{
                       "input", "dense", "dense", "sigmoid_cross_entropy", "dense", "sigmoid_cross_entropy",
                       // D: no gradient of what G made; the two losses' gradients add up in place
                       "sigmoid_cross_entropy_backward", "dense_backward_weights", "sigmoid_cross_entropy_backward",
                       "dense_backward_weights", "sgd_update",
                       // G: through the new D, which is a constant now, and back to the op of the first stage
                       "dense", "sigmoid_cross_entropy", "sigmoid_cross_entropy_backward", "dense_backward_data",
                       "dense_backward_weights", "sgd_update"}));
  EXPECT_EQ(updates(graph), (std::vector<std::string>{"D.weight", "G.weight"}));
  EXPECT_TRUE(graph.op(9).slice.accumulate);
  EXPECT_EQ(graph.op(9).inputs[2], graph.op(9).outputs[0]);
  EXPECT_EQ(graph.op(7).outputs, graph.op(9).outputs);
  EXPECT_EQ(graph.op(11).phase, Phase::kForward);
}

TEST(AutodiffStages, AParameterTrainedTwiceKeepsOneMomentum) {
  GraphBuilder builder("net");
  builder.begin_layer("input");
  const auto data = builder.inputs({{"x", Content::kNoise, {2, 3}}});
  const TensorId w = builder.named_parameter("w", {1, 3}, {});
  for (const char* layer : {"first", "second"}) {
    builder.begin_layer(layer);
    builder.sigmoid_cross_entropy(builder.dense_with(data[0], w), 1);
    builder.end_stage("");
  }
  const Graph graph = checked(build_training_graph(std::move(builder.finish()).value(), {}));
  const auto steps = ops_of(graph, OpKind::kSgdUpdate);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0]->inputs[2], steps[1]->inputs[2]);
  EXPECT_NE(steps[0]->inputs[1], steps[1]->inputs[1]);
}

TEST(AutodiffStages, RefusesToGoBackThroughAParameterThatIsNewByNow) {
  GraphBuilder builder("net");
  builder.begin_layer("all");
  const auto data = builder.inputs({{"x", Content::kNoise, {2, 3}}});
  const TensorId h = builder.dense(data[0], 4);
  builder.sigmoid_cross_entropy(h, 1);
  builder.end_stage("");
  builder.sigmoid_cross_entropy(builder.dense(h, 1), 1);
  builder.end_stage("");
  EXPECT_THROW(build_training_graph(std::move(builder.finish()).value(), {}), std::logic_error);
}

TEST(Autodiff, SeveralLossesAddUp) {
  GraphBuilder builder("net");
  builder.begin_layer("all");
  const auto data = builder.inputs({{"x", Content::kNoise, {2, 3}}});
  const TensorId y = builder.gelu(builder.dense(data[0], 4));
  builder.sigmoid_cross_entropy(y, 1);
  builder.sigmoid_cross_entropy(y, 0);
  const Graph graph = checked(build_training_graph(std::move(builder.finish()).value(), {}));
  const auto sums = ops_of(graph, OpKind::kAdd);
  ASSERT_EQ(sums.size(), 1U);
  EXPECT_EQ(graph.tensor(sums[0]->outputs[0]).name, "all.unary.grad.sum");
  EXPECT_EQ(ops_of(graph, OpKind::kSigmoidCrossEntropyBackward).size(), 2U);
}

TEST(Autodiff, ATiedEmbeddingAddsToTheLastLayersGradient) {
  GraphBuilder builder("net");
  builder.begin_layer("input");
  const auto data =
      builder.inputs({{"tokens", Content::kTokens, {2, 5}, 7}, {"next", Content::kNextTokens, {2, 5}, 7}});
  builder.begin_layer("embed");
  const TensorId weight = builder.named_parameter("embed.weight", {7, 4}, {});
  const TensorId x = builder.embedding_with(data[0], weight);
  builder.begin_layer("head");
  builder.softmax_cross_entropy(builder.dense_with(x, weight));
  const Graph graph = checked(build_training_graph(std::move(builder.finish()).value(), {}));
  const Op& dense = *ops_of(graph, OpKind::kDenseBackwardWeights).front();
  const Op& embedding = *ops_of(graph, OpKind::kEmbeddingBackward).front();
  EXPECT_FALSE(dense.slice.accumulate);
  EXPECT_TRUE(embedding.slice.accumulate);
  EXPECT_EQ(embedding.inputs, (std::vector<TensorId>{data[0], embedding.inputs[1], dense.outputs[0]}));
  EXPECT_EQ(embedding.outputs, dense.outputs);
  EXPECT_TRUE(ops_of(graph, OpKind::kAdd).empty());
  EXPECT_EQ(updates(graph), (std::vector<std::string>{"embed.weight"}));
}

TEST(Autodiff, AGradientThatOthersReadIsNotAddedToInPlace) {
  GraphBuilder builder("net");
  builder.begin_layer("all");
  const auto data = builder.inputs({{"x", Content::kNoise, {2, 3}}});
  const TensorId w = builder.named_parameter("w", {3, 3}, {});
  const TensorId v = builder.named_parameter("v", {3, 3}, {});
  const TensorId x = builder.dense_with(data[0], w);
  // The gradient of w + v is w's and v's; w has another one from the dense op.
  builder.sigmoid_cross_entropy(builder.matmul(x, builder.add(w, v)), 1);
  const Graph graph = checked(build_training_graph(std::move(builder.finish()).value(), {}));
  const Op& dense = *ops_of(graph, OpKind::kDenseBackwardWeights).front();
  EXPECT_FALSE(dense.slice.accumulate);
  EXPECT_EQ(updates(graph), (std::vector<std::string>{"v", "w"}));
}

TEST(Autodiff, AnUnrolledLstmMakesItsRecurrentGradientAtOnce) {
  GraphBuilder builder("net");
  builder.begin_layer("input");
  const auto data = builder.inputs({{"x", Content::kNoise, {3, 2, 5}}});
  builder.begin_layer("lstm");
  builder.sigmoid_cross_entropy(builder.lstm(data[0], 4), 1);
  const Graph graph = checked(build_training_graph(std::move(builder.finish()).value(), {}));
  const auto cells = ops_of(graph, OpKind::kLstmCellBackward);
  ASSERT_EQ(cells.size(), 3U);
  // The last step has no later one, the first no earlier one.
  EXPECT_TRUE(cells[0]->as<RecurrentAttributes>().state && !cells[0]->as<RecurrentAttributes>().carry);
  EXPECT_TRUE(cells[1]->as<RecurrentAttributes>().state && cells[1]->as<RecurrentAttributes>().carry);
  EXPECT_TRUE(!cells[2]->as<RecurrentAttributes>().state && cells[2]->as<RecurrentAttributes>().carry);
  EXPECT_EQ(cells[1]->inputs.size(), 6U);
  EXPECT_EQ(cells[1]->inputs[5], cells[0]->outputs[2]) << "dc comes from the later step";

  // One product of two steps' rows: the earlier h, and the gates' gradients.
  const TensorId recurrent = find(graph, "lstm.weight_hh.grad");
  std::vector<const Op*> products;
  for (const Op* op : ops_of(graph, OpKind::kDenseBackwardWeights)) {
    if (op->outputs[0] == recurrent) products.push_back(op);
  }
  ASSERT_EQ(products.size(), 1U);
  EXPECT_EQ(graph.tensor(products[0]->inputs[0]).shape, (Shape{4, 4}));
  EXPECT_EQ(graph.tensor(products[0]->inputs[1]).shape, (Shape{4, 16}));
  const auto joins = ops_of(graph, OpKind::kConcat);
  ASSERT_EQ(joins.size(), 4U) << "h of all steps; both of the product; the gradient of the gates";
  const auto steps = ops_of(graph, OpKind::kLstmCell);
  EXPECT_EQ(joins[1]->inputs, (std::vector<TensorId>{steps[1]->outputs[0], steps[0]->outputs[0]}));
  EXPECT_EQ(joins[2]->inputs, (std::vector<TensorId>{cells[0]->outputs[0], cells[1]->outputs[0]}));
  EXPECT_EQ(updates(graph), (std::vector<std::string>{"lstm.weight_hh", "lstm.weight_ih", "lstm.bias"}));
}

TEST(Autodiff, AnLstmOfWhichOnlyTheLastCellIsUsed) {
  GraphBuilder builder("net");
  builder.begin_layer("all");
  const auto data = builder.inputs({{"x", Content::kNoise, {2, 3}}});
  const TensorId gates = builder.dense(data[0], 8);
  builder.add(OpKind::kLstmCell, {}, {gates});
  builder.sigmoid_cross_entropy(gates + 2, 1);  // its second output
  const Graph graph = checked(build_training_graph(std::move(builder.finish()).value(), {}));
  const auto cells = ops_of(graph, OpKind::kLstmCellBackward);
  ASSERT_EQ(cells.size(), 1U);
  EXPECT_TRUE(cells[0]->as<RecurrentAttributes>().carry);
  const auto zeros = ops_of(graph, OpKind::kUnary);
  ASSERT_EQ(zeros.size(), 1U);
  EXPECT_EQ(zeros[0]->as<UnaryAttributes>().alpha, 0);
  EXPECT_EQ(cells[0]->inputs[0], zeros[0]->outputs[0]);
}

}  // namespace
}  // namespace sluice::graph
