#include "sluice/graph/builder/validate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sluice/graph/autodiff/autodiff.hpp"
#include "sluice/graph/builder/builder.hpp"
#include "sluice/graph/rewrite/slice_dense.hpp"

namespace sluice::graph {
namespace {

Graph trained(GraphBuilder& builder, const OptimizerOptions& options = {}) {
  return build_training_graph(std::move(builder.finish()).value(), options);
}

Graph image_graph() {
  GraphBuilder builder("images");
  builder.begin_layer("all");
  TensorId x = builder.input(2, 4, 8, 8, 10);
  x = builder.batch_norm(builder.conv2d(x, {.out_channels = 4, .kernel = 3, .stride = 2, .padding = 1}),
                         Activation::kRelu);
  x = builder.conv2d(x, {.out_channels = 4, .kernel = 3, .stride = 2, .padding = 1, .bias = true, .groups = 2});
  x = builder.relu(builder.add(x, x));
  x = builder.conv_transpose2d(x, {.out_channels = 6, .kernel = 4, .stride = 2, .padding = 1, .bias = true});
  x = builder.local_response_norm(builder.gelu(x), 3, 1e-4F, 0.75F, 1);
  x = builder.conv2d(x, {.out_channels = 4});
  x = builder.global_avg_pool(builder.max_pool(builder.concat({x, x}, 1), {}));
  builder.softmax_cross_entropy(builder.dense(x, 40));
  return slice_dense(trained(builder), Bytes{16} * 16);
}

Graph sequence_graph() {
  GraphBuilder builder("sequences");
  builder.begin_layer("all");
  const auto data =
      builder.inputs({{"tokens", Content::kTokens, {3, 2}, 7}, {"next", Content::kNextTokens, {3, 2}, 7}});
  const TensorId weight = builder.named_parameter("embed.weight", {7, 4}, {});
  const TensorId bias = builder.named_parameter("b", {4}, {});
  TensorId x = builder.layer_norm(builder.lstm(builder.embedding_with(data[0], weight), 4));
  x = builder.binary(x, bias, BinaryFunction::kMultiply);
  const TensorId scores = builder.softmax(builder.matmul(x, builder.transpose(x, {0, 2, 1})));
  x = builder.dropout(builder.matmul(scores, x), 0.5F);
  x = builder.add(builder.slice(x, 2, 0, 4), builder.reshape(x, {3, 2, 4}));
  x = builder.binary(x, builder.reduce(x, ReduceFunction::kMean, {2}), BinaryFunction::kSubtract);
  builder.softmax_cross_entropy(builder.dense_with(x, weight));
  return trained(builder, {.optimizer = Optimizer::kAdam});
}

TEST(Validate, AcceptsEveryKindOfOp) {
  for (const Graph& graph : {image_graph(), sequence_graph()}) {
    const Status status = validate(graph);
    EXPECT_TRUE(status.ok()) << status.error().message;
  }
}

// Extents that the other operands do not decide: of what an op takes a part of or sums over.
bool free_extent(const Op& op, std::size_t axis, bool first) {
  const auto is_axis = [&](std::int64_t candidate) { return candidate == static_cast<std::int64_t>(axis); };
  switch (op.kind) {
    case OpKind::kSlice:
      return is_axis(axis_of(op.attributes));
    case OpKind::kReduce:
      return std::ranges::any_of(op.as<ReduceAttributes>().axes, is_axis);
    case OpKind::kEmbedding:
    case OpKind::kEmbeddingBackward:
      return first;
    case OpKind::kDense:
    case OpKind::kDenseBackwardData:
    case OpKind::kDenseBackwardWeights:
      return op.slice.end != 0 && !first;
    default:
      return false;
  }
}

// Doubles the first or the last extent of each operand in turn: what must divide by four or eight still does.
int find_changes(const Graph& graph, OpIndex i, bool output, bool first) {
  const auto& operands = output ? graph.op(i).outputs : graph.op(i).inputs;
  int changes = 0;
  for (std::size_t o = 0; o < operands.size(); ++o) {
    Graph broken = graph;
    Tensor odd = graph.tensor(operands[o]);
    const std::size_t axis = first ? 0 : odd.shape.size() - 1;
    if (free_extent(graph.op(i), axis, first)) continue;
    odd.shape[axis] *= 2;
    (output ? broken.op(i).outputs : broken.op(i).inputs)[o] = broken.add_tensor(odd);
    const Status status = check_op_shapes(broken, broken.op(i));
    EXPECT_FALSE(status.ok()) << graph.op(i).name << (output ? " output " : " input ") << o;
    if (status.ok()) continue;
    EXPECT_NE(status.error().message.find("'" + graph.op(i).name + "'"), std::string::npos);
    ++changes;
  }
  return changes;
}

TEST(Validate, FindsAnyOperandOfAnyOpWithTheWrongShape) {
  int changes = 0;
  for (const Graph& graph : {image_graph(), sequence_graph()}) {
    for (OpIndex i = 0; i < graph.op_count(); ++i) {
      if (graph.op(i).kind == OpKind::kInput) continue;
      for (const bool output : {false, true}) {
        for (const bool first : {false, true}) changes += find_changes(graph, i, output, first);
      }
    }
  }
  EXPECT_GT(changes, 500);
}

TEST(Validate, FindsMissingOperands) {
  for (const Graph& graph : {image_graph(), sequence_graph()}) {
    for (OpIndex i = 1; i < graph.op_count(); ++i) {
      Graph broken = graph;
      broken.op(i).inputs.clear();
      EXPECT_FALSE(check_op_shapes(broken, broken.op(i)).ok()) << graph.op(i).name;
      broken = graph;
      broken.op(i).outputs.clear();
      EXPECT_FALSE(check_op_shapes(broken, broken.op(i)).ok()) << graph.op(i).name;
    }
  }
}

TEST(Validate, FindsASumThatIsNotNamedOnBothSides) {
  Graph graph = sequence_graph();
  int changed = 0;
  for (OpIndex i = 0; i < graph.op_count(); ++i) {
    if (!graph.op(i).slice.accumulate) continue;
    Graph broken = graph;
    broken.op(i).outputs[0] = broken.add_tensor(graph.tensor(graph.op(i).outputs[0]));
    EXPECT_FALSE(check_op_shapes(broken, broken.op(i)).ok()) << graph.op(i).name;
    ++changed;
  }
  EXPECT_EQ(changed, 1) << "a tied embedding";
}

TEST(Validate, FindsAReadBeforeTheFirstWrite) {
  Graph graph = image_graph();
  std::swap(graph.op(1), graph.op(2));
  const Status status = validate(graph);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("which nothing wrote before"), std::string::npos) << status.error().message;
}

TEST(Validate, FindsAttributesOfAnotherKindOfOp) {
  Graph graph = image_graph();
  graph.op(1).attributes = SoftmaxAttributes{};
  const Status status = validate(graph);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("attributes of another kind of op"), std::string::npos);
}

TEST(Validate, FindsAnOpWithoutALayer) {
  Graph graph = image_graph();
  graph.op(3).layer = 1;
  EXPECT_FALSE(validate(graph).ok());
}

}  // namespace
}  // namespace sluice::graph
