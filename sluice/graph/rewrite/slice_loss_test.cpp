#include "sluice/graph/rewrite/slice_loss.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/autodiff/autodiff.hpp"
#include "sluice/graph/builder/builder.hpp"
#include "sluice/graph/builder/validate.hpp"
#include "sluice/graph/footprint.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/graph/rewrite/evaluation.hpp"
#include "sluice/graph/rewrite/prepare.hpp"
#include "sluice/graph/rewrite/slice_dense.hpp"
#include "sluice/graph/summary.hpp"

namespace sluice::graph {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t kWords = 100;
constexpr Bytes kRowBytes = 4 * kWords;  // of logits: 2 x 5 tokens make 10 rows

// Tokens through an embedding and a layer; scored by the embedding's own table, or by a layer with a bias.
class LanguageModel {
 public:
  TensorId logits(bool tied, const Shape& flat = {}) {
    builder_.begin_layer("input");
    data_ =
        builder_.inputs({{"tokens", Content::kTokens, {2, 5}, kWords}, {"next", Content::kNextTokens, {2, 5}, kWords}});
    builder_.begin_layer("word");
    const TensorId table =
        builder_.named_parameter("table", {kWords, 16}, {.kind = Init::Kind::kNormal, .stddev = 0.1F});
    TensorId x = builder_.embedding_with(data_[0], table);
    builder_.begin_layer("hidden");
    x = builder_.layer_norm(builder_.gelu(builder_.dense(x, 16)));
    builder_.begin_layer("decoder");
    if (!flat.empty()) x = builder_.reshape(x, flat);
    return tied ? builder_.dense_with(x, table) : builder_.dense(x, kWords);
  }
  Graph finish(TensorId logits) {
    builder_.softmax_cross_entropy(logits, data_[1]);
    return std::move(builder_.finish()).value();
  }
  GraphBuilder& builder() { return builder_; }

 private:
  GraphBuilder builder_{"net"};
  std::vector<TensorId> data_;
};

Graph vocabulary_network(bool tied = false) {
  LanguageModel model;
  const TensorId logits = model.logits(tied);
  return model.finish(logits);
}

std::vector<const Op*> all_of_kind(const Graph& graph, OpKind kind) {
  std::vector<const Op*> ops;
  for (const Op& op : graph.ops()) {
    if (op.kind == kind) ops.push_back(&op);
  }
  return ops;
}

std::vector<std::string> names_in(const Graph& graph, const std::string& part) {
  std::vector<std::string> names;
  for (const Op& op : graph.ops()) {
    if (op.name.find(part) != std::string::npos) names.push_back(op.name);
  }
  return names;
}

bool has_tensor(const Graph& graph, const std::string& name) {
  return std::ranges::find(graph.tensors(), name, &Tensor::name) != graph.tensors().end();
}

void expect_valid(const Graph& graph) {
  const Status status = validate(graph);
  EXPECT_TRUE(status.ok()) << status.error().message;
}

TEST(SliceLoss, FinishesOneSliceOfRowsBeforeTheNext) {
  const Graph graph = slice_loss(build_training_graph(vocabulary_network(), {}), 5 * kRowBytes);
  expect_valid(graph);
  EXPECT_THAT(
      names_in(graph, "[5:10]"),
      ElementsAre("hidden.layer_norm.rows.slice[5:10]", "decoder.dense[5:10]", "decoder.softmax_cross_entropy[5:10]",
                  "decoder.softmax_cross_entropy.softmax_cross_entropy_backward[5:10]",
                  "decoder.dense.dense_backward_data[5:10]", "hidden.layer_norm.grad.rows.place[5:10]",
                  "decoder.dense.dense_backward_weights[5:10]"));
  const auto index_of = [&](const std::string& name) {
    return std::ranges::find(graph.ops(), name, &Op::name) - graph.ops().begin();
  };
  EXPECT_LT(index_of("decoder.dense.dense_backward_weights[0:5]"), index_of("decoder.dense[5:10]"));
  EXPECT_LT(index_of("decoder.dense.dense_backward_weights[5:10]"), index_of("decoder.weight.update"));
}

TEST(SliceLoss, NeverHoldsAllLogits) {
  const Graph graph = slice_loss(build_training_graph(vocabulary_network(), {}), 3 * kRowBytes);
  expect_valid(graph);
  for (const Tensor& tensor : graph.tensors()) {
    if (tensor.role == Role::kActivation || tensor.role == Role::kActivationGradient) {
      EXPECT_LE(tensor.bytes, 3 * kRowBytes) << tensor.name;
    }
  }
  std::vector<std::int64_t> ends;
  for (const Op* op : all_of_kind(graph, OpKind::kSoftmaxCrossEntropy)) ends.push_back(op->slice.end);
  EXPECT_THAT(ends, ElementsAre(3, 6, 9, 10)) << "equal slices, the last smaller";
}

TEST(SliceLoss, LossAndWeightGradientsAreSummedInPlace) {
  const Graph graph = slice_loss(build_training_graph(vocabulary_network(), {}), 5 * kRowBytes);
  for (const OpKind kind : {OpKind::kSoftmaxCrossEntropy, OpKind::kDenseBackwardWeights}) {
    std::vector<const Op*> ops = all_of_kind(graph, kind);
    std::erase_if(ops, [](const Op* op) { return op->name.find("decoder") == std::string::npos; });
    ASSERT_EQ(ops.size(), 2U) << to_string(kind);
    EXPECT_FALSE(ops[0]->slice.accumulate);
    EXPECT_EQ(ops[0]->inputs.size(), 2U);
    EXPECT_TRUE(ops[1]->slice.accumulate);
    EXPECT_EQ(ops[1]->inputs[2], ops[0]->outputs[0]);
    EXPECT_EQ(ops[1]->outputs[0], ops[0]->outputs[0]);
  }
  EXPECT_EQ(graph.tensor(all_of_kind(graph, OpKind::kSoftmaxCrossEntropy)[0]->outputs[0]).role, Role::kOutput);
}

TEST(SliceLoss, ALossThatIsAddedToMustBeAnOperand) {
  Graph graph = slice_loss(build_training_graph(vocabulary_network(), {}), 5 * kRowBytes);
  const auto second = std::ranges::find(graph.ops(), "decoder.softmax_cross_entropy[5:10]", &Op::name);
  Op& op = graph.op(as_id<OpIndex>(second - graph.ops().begin()));
  op.inputs.pop_back();
  EXPECT_EQ(validate(graph).error().message,
            "op 'decoder.softmax_cross_entropy[5:10]' (softmax_cross_entropy): a partial or accumulating op must name "
            "its outputs as its last inputs");
  op.slice.accumulate = false;
  EXPECT_TRUE(validate(graph).ok());
  op.slice.end = 11;
  EXPECT_FALSE(validate(graph).ok()) << "more rows than logits";
}

TEST(SliceLoss, ReadsTheInputThatIsThereInsteadOfMakingItAgain) {
  const Graph whole = build_training_graph(vocabulary_network(), {});
  ASSERT_EQ(names_in(whole, "layer_norm.again").size(), 1U) << "so that the next line means something";
  const Graph graph = slice_loss(whole, 5 * kRowBytes);
  EXPECT_TRUE(names_in(graph, "layer_norm.again").empty());
  EXPECT_EQ(names_in(graph, "gelu.again").size(), names_in(whole, "gelu.again").size());
  EXPECT_FALSE(has_tensor(graph, "hidden.layer_norm.again"));
}

TEST(SliceLoss, KeepsParametersAndWork) {
  const Graph whole = build_training_graph(vocabulary_network(), {.optimizer = Optimizer::kAdam});
  const Graph graph = slice_loss(whole, 3 * kRowBytes);
  EXPECT_EQ(summarize(graph).parameters, summarize(whole).parameters);
  EXPECT_EQ(summarize(graph).bytes[Role::kOptimizerState], summarize(whole).bytes[Role::kOptimizerState]);
  EXPECT_EQ(summarize(graph).bytes[Role::kGradient], summarize(whole).bytes[Role::kGradient]);
  EXPECT_EQ(summarize(graph).flops, summarize(whole).flops);
}

TEST(SliceLoss, LowersThePeakAndTheLargestOp) {
  const Graph whole = build_training_graph(vocabulary_network(true), {});
  const Footprint before = measure_footprint(whole);
  const Footprint after = measure_footprint(slice_loss(whole, kRowBytes));
  EXPECT_LE(after.peak, before.peak - 5 * kRowBytes);
  const auto largest = [&](const Graph& graph) {
    Bytes bytes = 0;
    for (const Op& op : graph.ops()) {
      if (op.kind != OpKind::kSoftmaxCrossEntropy) continue;
      for (const TensorId id : distinct_operands(op)) bytes = std::max(bytes, graph.tensor(id).bytes);
    }
    return bytes;
  };
  EXPECT_EQ(largest(slice_loss(whole, kRowBytes)), kRowBytes);
}

// Weights are then cut by features inside each slice of rows; where they are complete, they are updated at once.
TEST(SliceLoss, AndWeightsAreSlicedInsideOfIt) {
  for (const bool tied : {false, true}) {
    const Graph whole = build_training_graph(vocabulary_network(tied), {.optimizer = Optimizer::kAdamW});
    const Graph graph = slice_dense(slice_loss(whole, 5 * kRowBytes), 64 * 64);
    expect_valid(graph);
    EXPECT_EQ(names_in(graph, "decoder.dense[0:5][").size(), 2U);
    EXPECT_EQ(names_in(graph, "decoder.dense[5:10][").size(), 2U);
    EXPECT_THAT(names_in(graph, "dense_backward_weights[5:10]"),
                ElementsAre("decoder.dense.dense_backward_weights[5:10][48:100]",
                            "decoder.dense.dense_backward_weights[5:10][0:48]"));
    EXPECT_EQ(summarize(graph).parameters, summarize(whole).parameters);
  }
  const Graph graph = slice_dense(slice_loss(build_training_graph(vocabulary_network(), {}), 5 * kRowBytes), 64 * 64);
  const auto first = std::ranges::find(graph.ops(), "decoder.dense.dense_backward_weights[5:10][0:48]", &Op::name);
  EXPECT_EQ((first + 1)->name, "decoder.weight.update[0:48]");
}

TEST(SliceLoss, FollowsViewsOfTheLogits) {
  LanguageModel model;
  const TensorId y = model.logits(false, {10, 16});
  const Graph whole = build_training_graph(model.finish(model.builder().reshape(y, {2, 5, kWords})), {});
  const Graph graph = slice_loss(whole, 5 * kRowBytes);
  expect_valid(graph);
  EXPECT_EQ(all_of_kind(graph, OpKind::kSoftmaxCrossEntropy).size(), 2U);
  EXPECT_EQ(all_of_kind(graph, OpKind::kReshape).size(), 2U) << "those of the layer's input; it has rows already";
}

// The gradient of an earlier loss is made long after it, behind the rest of the network.
TEST(SliceLoss, SlicesEachLossWhereItsGradientIsMade) {
  GraphBuilder builder("two heads");
  builder.begin_layer("input");
  TensorId x = builder.input(4, 3, 4, 4, 10);
  builder.begin_layer("early");
  x = builder.relu(builder.dense(x, 16));
  builder.softmax_cross_entropy(builder.dense(x, 10));
  builder.begin_layer("late");
  builder.softmax_cross_entropy(builder.dense(builder.relu(builder.dense(x, 16)), 10));
  const Graph graph = slice_loss(build_training_graph(std::move(builder.finish()).value(), {}), 80);
  expect_valid(graph);
  EXPECT_THAT(names_in(graph, "softmax_cross_entropy[0:2]"),
              ElementsAre("late.softmax_cross_entropy[0:2]", "early.softmax_cross_entropy[0:2]"));
}

TEST(SliceLoss, SlicesTheForwardHalfOfAnEvaluationGraph) {
  const Graph graph = slice_loss(build_evaluation_graph(vocabulary_network()), 5 * kRowBytes);
  expect_valid(graph);
  EXPECT_EQ(all_of_kind(graph, OpKind::kSoftmaxCrossEntropy).size(), 2U);
  EXPECT_TRUE(std::ranges::all_of(graph.ops(), [](const Op& op) { return op.phase == Phase::kForward; }));
}

TEST(SliceLoss, LeavesSmallLogitsAlone) {
  const Graph whole = build_training_graph(vocabulary_network(), {});
  EXPECT_EQ(slice_loss(whole, 10 * kRowBytes).fingerprint(), whole.fingerprint());
  EXPECT_NE(slice_loss(whole, 10 * kRowBytes - 1).fingerprint(), whole.fingerprint());
}

TEST(SliceLoss, LeavesLogitsWholeThatAnotherOpReads) {
  LanguageModel model;
  const TensorId y = model.logits(false);
  model.builder().sigmoid_cross_entropy(y, 1);
  const Graph whole = build_training_graph(model.finish(y), {});
  EXPECT_EQ(slice_loss(whole, kRowBytes).fingerprint(), whole.fingerprint());
}

TEST(SliceLoss, LeavesProbabilitiesWholeThatTheCallerReads) {
  GraphBuilder builder("net");
  builder.begin_layer("input");
  const TensorId x = builder.input(4, 3, 4, 4, 10);
  builder.begin_layer("fc");
  builder.softmax_cross_entropy(builder.dense(x, 10));
  const Graph forward = std::move(builder.finish()).value();
  const Graph evaluation = build_evaluation_graph(forward);
  EXPECT_EQ(slice_loss(evaluation, 40).fingerprint(), evaluation.fingerprint());
  const Graph training = slice_loss(build_training_graph(forward, {}), 40);
  expect_valid(training);
  EXPECT_EQ(all_of_kind(training, OpKind::kSoftmaxCrossEntropy).size(), 4U) << "a row of an image is all of it";
}

TEST(SliceLoss, SlicesAreSmallerWhereMoreIsMadeAgain) {
  GraphBuilder builder("net");
  builder.begin_layer("all");
  const auto data =
      builder.inputs({{"tokens", Content::kTokens, {2, 512}, 8192}, {"next", Content::kNextTokens, {2, 512}, 8192}});
  builder.softmax_cross_entropy(builder.dense(builder.embedding(data[0], 8192, 16), 8192), data[1]);
  const Graph forward = std::move(builder.finish()).value();
  const auto slices = [&](Rematerialize what) {
    const Graph graph = prepare_training_graph(forward, {.rematerialize = what});
    return all_of_kind(graph, OpKind::kSoftmaxCrossEntropy).size();
  };
  EXPECT_GT(slices(Rematerialize::kCheap), 1U);
  EXPECT_GT(slices(Rematerialize::kChains), slices(Rematerialize::kCheap));
}

TEST(SliceLoss, LimitsGoByThePeak) {
  const Graph small = build_training_graph(vocabulary_network(), {});
  EXPECT_EQ(loss_slice_limit(small), 4 * kMiB);
  EXPECT_THROW(slice_loss(small, 0), std::exception);
}

}  // namespace
}  // namespace sluice::graph
