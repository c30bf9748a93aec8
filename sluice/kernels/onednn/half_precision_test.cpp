// A network in bf16: half the bytes, nearly the training of fp32, and no casts but those of weights.
#include <gtest/gtest.h>

#include <set>

#include "sluice/graph/builder/builder.hpp"
#include "sluice/graph/rewrite/prepare.hpp"
#include "sluice/kernels/backends/backends.hpp"
#include "sluice/kernels/onednn/bf16_support.hpp"
#include "sluice/testing/training_run.hpp"

namespace sluice::kernels {
namespace {

graph::Graph small_network() {
  graph::GraphBuilder builder("small");
  builder.begin_layer("input");
  graph::TensorId x = builder.input(8, 3, 16, 16, 10);
  builder.begin_layer("conv1");
  x = builder.batch_norm(builder.conv2d(x, {.out_channels = 32, .kernel = 3, .padding = 1}), graph::Activation::kRelu6);
  builder.begin_layer("conv2");
  const graph::TensorId depthwise = builder.conv2d(x, {.out_channels = 32, .kernel = 3, .padding = 1, .groups = 32});
  x = builder.add(builder.batch_norm(depthwise), x, graph::Activation::kRelu);
  x = builder.max_pool(builder.concat({x, builder.slice(x, 1, 16, 32)}, 1), {});
  builder.begin_layer("conv3");
  x = builder.relu(builder.conv2d(x, {.out_channels = 24, .kernel = 1, .bias = true}));
  x = builder.avg_pool(x, {});
  builder.begin_layer("fc");
  builder.softmax_cross_entropy(builder.dense(builder.reshape(x, {8, 24 * 4 * 4}), 10));
  auto graph = builder.finish();
  SLUICE_CHECK(graph.ok(), graph.error().message);
  return std::move(*graph);
}

// Of images, but for reorders' copies for one op: with AMX, convolutions want their channels last.
Bytes activation_bytes(const graph::Graph& graph) {
  std::set<graph::TensorId> copies;
  for (const graph::Op& op : graph.ops())
    if (op.kind == graph::OpKind::kReorder) copies.insert(op.outputs.begin(), op.outputs.end());
  Bytes bytes = 0;
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
    const graph::Tensor& tensor = graph.tensor(id);
    if (tensor.role == graph::Role::kActivation && tensor.shape.size() == 4 && !copies.contains(id))
      bytes += tensor.bytes;
  }
  return bytes;
}

// Skipped on processors without AVX-512, where there is nothing to compare (bf16_support.hpp); elsewhere a refusal
// fails.
class HalfPrecision : public ::testing::Test {
 protected:
  void SetUp() override {
    if (has_bf16_kernels()) return;
    const auto refused = make_onednn_backend()->compile(rounded_, 2);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
    GTEST_SKIP() << "no AVX-512: " << refused.error().message;
  }

  const graph::Graph exact_ = graph::prepare_training_graph(small_network(), {});
  const graph::Graph rounded_ = graph::prepare_training_graph(small_network(), {}, graph::Precision::kBF16);
};

TEST_F(HalfPrecision, FollowsTheReferenceInHalfTheBytes) {
  const auto whole = testing::compiled(make_onednn_backend(), exact_);
  const auto half = testing::compiled(make_onednn_backend(), rounded_);
  EXPECT_LT(activation_bytes(half->graph()), activation_bytes(whole->graph()) * 11 / 20);
  const testing::NamedValues expected = testing::trained(*testing::compiled(make_reference_backend(), exact_));
  EXPECT_EQ(testing::farthest(testing::trained(*whole), expected, 1e-3), "");
  // bf16 rounds by up to 0.4 %, at every op.
  EXPECT_EQ(testing::farthest(testing::trained(*half), expected, 0.1), "");
}

TEST_F(HalfPrecision, ReshapesAreViewsAndWeightsAreCastToTheLayoutTheyAreReadIn) {
  const auto half = testing::compiled(make_onednn_backend(), rounded_);
  bool sees_view = false;
  for (const graph::Op& op : half->graph().ops()) {
    EXPECT_NE(op.kind, graph::OpKind::kReshape) << op.name;
    if (op.kind == graph::OpKind::kDense) sees_view = op.views == "0:[8, 384]";
    if (op.kind == graph::OpKind::kReorder) {
      EXPECT_NE(half->graph().tensor(op.inputs[0]).role, graph::Role::kParameter) << op.name;
    }
  }
  EXPECT_TRUE(sees_view);
}

}  // namespace
}  // namespace sluice::kernels
