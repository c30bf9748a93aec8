#include "sluice/graph/rewrite/slice_dense.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/autodiff/autodiff.hpp"
#include "sluice/graph/builder/builder.hpp"
#include "sluice/graph/builder/validate.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/graph/summary.hpp"

namespace sluice::graph {
namespace {

constexpr Bytes kFeatureBytes = 256;  // of weights: fc1 has 100 features of 64 inputs

Graph dense_network(bool residual = false) {
  GraphBuilder builder("net");
  builder.begin_layer("input");
  TensorId x = builder.input(2, 4, 4, 4, 10);
  builder.begin_layer("conv1");
  x = builder.conv2d(x, {.out_channels = 4});
  builder.begin_layer("fc1");
  TensorId y = builder.relu(builder.dense(x, 100));
  if (residual) y = builder.add(y, builder.dense(x, 100));
  builder.begin_layer("fc2");
  builder.softmax_cross_entropy(builder.dense(y, 10));
  return std::move(builder.finish()).value();
}

std::vector<const Op*> ops_of(const Graph& graph, OpKind kind) {
  std::vector<const Op*> ops;
  for (const Op& op : graph.ops()) {
    if (op.kind == kind && op.slice.end != 0) ops.push_back(&op);
  }
  return ops;
}

const Tensor* find(const Graph& graph, const std::string& name) {
  for (const Tensor& tensor : graph.tensors()) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

std::map<Role, Bytes> persistent_bytes(const Graph& graph) {
  std::map<Role, Bytes> bytes;
  for (const auto& [role, size] : summarize(graph).bytes) {
    if (is_persistent(role) || role == Role::kGradient) bytes[role] = size;
  }
  return bytes;
}

TEST(SliceDense, CutsFeaturesInMultiplesOfSixteenWithinTheLimit) {
  const Graph graph = slice_dense(build_training_graph(dense_network(), {}), 40 * kFeatureBytes);
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  const auto forward = ops_of(graph, OpKind::kDense);
  ASSERT_EQ(forward.size(), 4U);  // 40 features fit, so 32 a slice: 7 units of 16 in 4 slices
  std::int64_t next = 0;
  for (const Op* op : forward) {
    EXPECT_EQ(op->slice.begin, next);
    next = op->slice.end;
    EXPECT_TRUE(next % 16 == 0 || next == 100);
    EXPECT_LE(graph.tensor(op->inputs[1]).bytes, 40 * kFeatureBytes);
  }
  EXPECT_EQ(next, 100);
}

TEST(SliceDense, EverySliceButTheFirstAddsToWhatIsThere) {
  const Graph graph = slice_dense(build_training_graph(dense_network(), {}), 40 * kFeatureBytes);
  for (const OpKind kind : {OpKind::kDense, OpKind::kDenseBackwardData}) {
    const auto ops = ops_of(graph, kind);
    ASSERT_EQ(ops.size(), 4U);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const std::size_t whole_inputs = kind == OpKind::kDense ? 3 : 2;
      EXPECT_EQ(ops[i]->slice.partial, i > 0);
      EXPECT_EQ(ops[i]->inputs.size(), whole_inputs + (i > 0 ? 1 : 0));
      EXPECT_EQ(ops[i]->outputs, ops[0]->outputs) << "the output stays whole";
      EXPECT_EQ(ops[i]->inputs.back() == ops[i]->outputs[0], i > 0);
    }
  }
  for (const Op* op : ops_of(graph, OpKind::kDenseBackwardWeights)) EXPECT_FALSE(op->slice.partial);
}

TEST(SliceDense, FinishesOneSliceBeforeTheNext) {
  const Graph whole = build_training_graph(dense_network(), {});
  const Graph graph = slice_dense(whole, 40 * kFeatureBytes);
  std::vector<std::string> names;
  for (const Op& op : graph.ops()) {
    if (op.phase != Phase::kForward && op.name.find('[') != std::string::npos) names.push_back(op.name);
  }
  ASSERT_EQ(names.size(), 16U);
  EXPECT_EQ(names[0], "fc1.dense.dense_backward_data[80:100]") << "the forward pass has just left the last one";
  EXPECT_EQ(names[1], "fc1.dense.dense_backward_weights[80:100]");
  EXPECT_EQ(names[2], "fc1.weight.update[80:100]");
  EXPECT_EQ(names[3], "fc1.bias.update[80:100]");
  EXPECT_EQ(names[4], "fc1.dense.dense_backward_data[48:80]");
  EXPECT_EQ(names[15], "fc1.bias.update[0:16]");
  const Liveness liveness = analyze_liveness(graph);
  for (TensorId id = 0; id < graph.tensor_count(); ++id) {
    if (graph.tensor(id).role != Role::kGradient) continue;
    EXPECT_LE(liveness.ranges[as_index(id)].length(), 3) << graph.tensor(id).name;
  }
}

TEST(SliceDense, SlicesStartWithTheValuesOfTheWhole) {
  const Graph whole = build_training_graph(dense_network(), {});
  const Graph graph = slice_dense(whole, 40 * kFeatureBytes);
  const Tensor* original = find(whole, "fc1.weight");
  const Tensor* slice = find(graph, "fc1.weight[16:48]");
  ASSERT_NE(slice, nullptr);
  EXPECT_EQ(slice->shape, (Shape{32, 64}));
  EXPECT_EQ(slice->init.kind, original->init.kind);
  EXPECT_EQ(slice->init.stream, original->init.stream);
  EXPECT_EQ(slice->init.stddev, original->init.stddev);
  EXPECT_EQ(slice->init.first_element, 16 * 64);
  for (const char* name : {"fc1.bias[16:48]", "fc1.bias.grad[16:48]", "fc1.bias.momentum[16:48]"}) {
    ASSERT_NE(find(graph, name), nullptr) << name;
    EXPECT_EQ(find(graph, name)->shape, (Shape{32}));
  }
  EXPECT_EQ(find(graph, "fc1.weight"), nullptr);
}

TEST(SliceDense, KeepsParametersBytesAndWork) {
  const Graph whole = build_training_graph(dense_network(), {});
  const Graph graph = slice_dense(whole, 40 * kFeatureBytes);
  EXPECT_EQ(summarize(graph).parameters, summarize(whole).parameters);
  EXPECT_EQ(persistent_bytes(graph), persistent_bytes(whole));
  EXPECT_EQ(summarize(graph).flops, summarize(whole).flops);
}

TEST(SliceDense, LeavesSmallLayersAlone) {
  const Graph whole = build_training_graph(dense_network(), {});
  EXPECT_EQ(slice_dense(whole).fingerprint(), whole.fingerprint());
  EXPECT_EQ(slice_dense(whole, 100 * kFeatureBytes).fingerprint(), whole.fingerprint());
  EXPECT_NE(slice_dense(whole, 100 * kFeatureBytes - 1).fingerprint(), whole.fingerprint());
}

TEST(SliceDense, CutsSingleFeaturesWhenSixteenDoNotFit) {
  const Graph graph = slice_dense(build_training_graph(dense_network(), {}), 3 * kFeatureBytes);
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  EXPECT_EQ(ops_of(graph, OpKind::kDense).size(), 34U + 10U);  // 100 by 3; fc2's of 400 bytes, one each
}

TEST(SliceDense, HandlesTwoLayersOnOneInputWithSummedGradients) {
  const Graph graph = slice_dense(build_training_graph(dense_network(true), {}), 40 * kFeatureBytes);
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  EXPECT_EQ(ops_of(graph, OpKind::kDenseBackwardData).size(), 8U);
  // The sum reads each layer's gradient only when all its slices have contributed.
  for (OpIndex i = 0; i < graph.op_count(); ++i) {
    if (graph.op(i).kind != OpKind::kAdd || graph.op(i).phase == Phase::kForward) continue;
    for (OpIndex later = i; later < graph.op_count(); ++later) {
      EXPECT_EQ(std::count(graph.op(later).outputs.begin(), graph.op(later).outputs.end(), graph.op(i).inputs[1]), 0);
    }
  }
}

TEST(SliceDense, SlicesAForwardGraphToo) {
  const Graph graph = slice_dense(dense_network(), 40 * kFeatureBytes);
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  EXPECT_EQ(ops_of(graph, OpKind::kDense).size(), 4U);
}

// Tokens through an embedding of 100 words and a layer, scored against the embedding itself (64 features, 256 bytes).
Graph language_model(bool tied) {
  GraphBuilder builder("net");
  builder.begin_layer("input");
  const TensorId ids =
      builder.inputs({{"tokens", Content::kTokens, {2, 5}, 100}, {"next", Content::kNextTokens, {2, 5}, 100}})[0];
  builder.begin_layer("word");
  TensorId x = builder.embedding(ids, 100, 64);
  builder.begin_layer("hidden");
  x = builder.gelu(builder.dense(x, 64));
  builder.begin_layer("decoder");
  TensorId weight = -1;
  for (TensorId id = 0; tied && builder.tensor(id).name != "hidden.weight"; ++id) {
    if (builder.tensor(id).name == "word.weight") weight = id;
  }
  builder.softmax_cross_entropy(tied ? builder.dense_with(x, weight) : builder.dense(x, 100));
  return std::move(builder.finish()).value();
}

std::vector<std::string> names_of(const Graph& graph, OpKind kind) {
  std::vector<std::string> names;
  for (const Op* op : ops_of(graph, kind)) names.push_back(op->name);
  return names;
}

TEST(SliceDense, SlicesEmbeddingsByRowsOfTheVocabulary) {
  const Graph graph = slice_dense(build_training_graph(language_model(false), {}), 70 * kFeatureBytes);
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  const auto forward = ops_of(graph, OpKind::kEmbedding);
  ASSERT_EQ(forward.size(), 2U);
  EXPECT_FALSE(forward[0]->slice.partial);
  EXPECT_TRUE(forward[1]->slice.partial);
  EXPECT_EQ(forward[1]->inputs,
            (std::vector<TensorId>{forward[0]->inputs[0], forward[1]->inputs[1], forward[0]->outputs[0]}));
  EXPECT_EQ(graph.tensor(forward[1]->inputs[1]).shape[0], 100 - forward[1]->slice.begin);
  const auto backward = ops_of(graph, OpKind::kEmbeddingBackward);
  ASSERT_EQ(backward.size(), 2U);
  for (const Op* op : backward) EXPECT_FALSE(op->slice.partial);
  EXPECT_EQ(graph.tensor(backward[0]->outputs[0]).shape, graph.tensor(forward[1]->inputs[1]).shape);
}

TEST(SliceDense, SlicesATiedWeightInAllItsOps) {
  const Graph whole = build_training_graph(language_model(true), {});
  const Graph graph = slice_dense(whole, 70 * kFeatureBytes);
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  EXPECT_EQ(find(graph, "word.weight"), nullptr);
  for (const OpKind kind : {OpKind::kEmbedding, OpKind::kDense, OpKind::kDenseBackwardData,
                            OpKind::kDenseBackwardWeights, OpKind::kEmbeddingBackward}) {
    EXPECT_EQ(ops_of(graph, kind).size(), 2U) << to_string(kind);
  }
  // The second gradient is accumulated slice by slice, each slice updated before the next is touched.
  std::vector<std::string> last;
  for (OpIndex i = graph.op_count() - 4; i < graph.op_count(); ++i) last.push_back(graph.op(i).name);
  EXPECT_EQ(last, (std::vector<std::string>{"word.embedding.embedding_backward[48:100]", "word.weight.update[48:100]",
                                            "word.embedding.embedding_backward[0:48]", "word.weight.update[0:48]"}));
  EXPECT_EQ(persistent_bytes(graph), persistent_bytes(whole));
}

TEST(SliceDense, SlicesAdamsMomentsToo) {
  const Graph whole = build_training_graph(dense_network(), {.optimizer = Optimizer::kAdam});
  const Graph graph = slice_dense(whole, 40 * kFeatureBytes);
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  ASSERT_NE(find(graph, "fc1.weight.moment2[16:48]"), nullptr);
  EXPECT_EQ(find(graph, "fc1.weight.moment2[16:48]")->shape, (Shape{32, 64}));
  EXPECT_EQ(persistent_bytes(graph), persistent_bytes(whole));
}

TEST(SliceDense, AnOpThatNeedsAllOfYEndsTheRun) {
  GraphBuilder builder("net");
  builder.begin_layer("input");
  const TensorId x = builder.inputs({{"x", Content::kNoise, {4, 64}, 0}})[0];
  builder.begin_layer("twice");
  const TensorId y = builder.dense(x, 64, false);
  TensorId weight = 0;
  while (builder.tensor(weight).role != Role::kParameter) ++weight;
  builder.sigmoid_cross_entropy(builder.dense_with(y, weight), 1);
  const Graph graph = slice_dense(build_training_graph(*builder.finish(), {}), 32 * kFeatureBytes);
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  EXPECT_EQ(names_of(graph, OpKind::kDense), (std::vector<std::string>{"twice.dense[0:32]", "twice.dense[32:64]",
                                                                       "twice.dense_2[0:32]", "twice.dense_2[32:64]"}));
}

TEST(SliceDense, LeavesAWeightWholeThatAnotherOpReads) {
  GraphBuilder builder("net");
  builder.begin_layer("input");
  const TensorId x = builder.inputs({{"x", Content::kNoise, {4, 64}, 0}})[0];
  builder.begin_layer("net");
  const TensorId y = builder.dense(x, 64, false);
  TensorId weight = 0;
  while (builder.tensor(weight).role != Role::kParameter) ++weight;
  builder.sigmoid_cross_entropy(builder.dense_with(y, builder.transpose(weight, {1, 0})), 1);
  const Graph whole = build_training_graph(*builder.finish(), {});
  EXPECT_EQ(slice_dense(whole, 32 * kFeatureBytes).fingerprint(), whole.fingerprint());
}

TEST(SliceDense, LimitsGoByTheModelsSize) {
  const auto limit_with = [](std::int64_t features) {
    GraphBuilder builder("wide");
    builder.begin_layer("net");
    builder.sigmoid_cross_entropy(builder.dense(builder.input(2, 3, 64, 64, 10), features), 1);
    return dense_slice_limit(*builder.finish());
  };
  EXPECT_EQ(dense_slice_limit(dense_network()), 4 * kMiB);
  const double weights = 4.0 * 10000 * 3 * 64 * 64;
  EXPECT_NEAR(static_cast<double>(limit_with(10000)), weights / 64, 0.01 * weights / 64);
  EXPECT_EQ(limit_with(40000), 16 * kMiB);
}

}  // namespace
}  // namespace sluice::graph
