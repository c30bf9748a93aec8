#include "sluice/graph/builder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sluice/base/random.hpp"
#include "sluice/graph/validate.hpp"

namespace sluice {
namespace {

const Tensor& named(const Graph& graph, const std::string& name) {
  const auto found = std::find_if(graph.tensors().begin(), graph.tensors().end(),
                                  [&](const Tensor& tensor) { return tensor.name == name; });
  SLUICE_CHECK(found != graph.tensors().end(), "no tensor " + name);
  return *found;
}

TEST(GraphBuilder, NamesAndInitialisesParametersByLayer) {
  GraphBuilder builder("net");
  builder.begin_layer("input");
  TensorId x = builder.input(2, 3, 8, 8);
  builder.begin_layer("conv1");
  x = builder.batch_norm(builder.conv2d(x, {.out_channels = 4, .kernel = 3, .padding = 1, .bias = true}), true);
  builder.begin_layer("fc");
  builder.softmax_cross_entropy(builder.dense(builder.global_avg_pool(x), 10));
  const Graph graph = std::move(builder.finish()).value();
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;

  const Tensor& weight = named(graph, "conv1.weight");
  EXPECT_EQ(weight.shape, (Shape{4, 3, 3, 3}));
  EXPECT_EQ(weight.role, Role::kParameter);
  EXPECT_EQ(weight.init.kind, Init::Kind::kNormal);
  EXPECT_EQ(weight.init.stream, stream_of("conv1.weight"));
  EXPECT_FLOAT_EQ(weight.init.stddev, std::sqrt(2.0F / 27.0F));
  EXPECT_EQ(named(graph, "conv1.bias").init.kind, Init::Kind::kZero);
  EXPECT_EQ(named(graph, "conv1.bn.scale_shift").init.kind, Init::Kind::kScaleShift);
  EXPECT_EQ(named(graph, "conv1.bn.running").init.kind, Init::Kind::kRunningStats);
  EXPECT_EQ(named(graph, "conv1.bn.running").role, Role::kBuffer);
  EXPECT_FLOAT_EQ(named(graph, "fc.weight").init.stddev, std::sqrt(2.0F / 4.0F));
  EXPECT_EQ(graph.layers, (std::vector<std::string>{"input", "conv1", "fc"}));
}

TEST(GraphBuilder, FollowsTheOperandTable) {
  GraphBuilder builder("net");
  builder.begin_layer("all");
  TensorId x = builder.batch_norm(builder.input(2, 3, 8, 8), true);
  x = builder.max_pool(x, {.kernel = 2, .stride = 2});
  builder.softmax_cross_entropy(builder.dense(x, 10));
  const Graph graph = std::move(builder.finish()).value();

  const Op& norm = graph.op(1);
  ASSERT_EQ(norm.outputs.size(), 4U);
  EXPECT_EQ(norm.outputs[2], norm.inputs[2]) << "running statistics are updated in place";
  EXPECT_EQ(graph.tensor(norm.outputs[3]).dtype, DType::kU8);
  EXPECT_EQ(graph.tensor(graph.op(2).outputs[1]).dtype, DType::kU8);
  EXPECT_EQ(graph.tensor(graph.op(0).outputs[1]).dtype, DType::kI32);
  const Op& loss = graph.op(4);
  EXPECT_EQ(loss.inputs[1], graph.op(0).outputs[1]);
  EXPECT_EQ(graph.tensor(loss.outputs[0]).role, Role::kOutput);
}

TEST(GraphBuilder, MakesNamesOfOneLayerDistinct) {
  GraphBuilder builder("net");
  builder.begin_layer("stem");
  TensorId x = builder.input(1, 3, 8, 8);
  x = builder.conv2d(builder.conv2d(x, {.out_channels = 4}), {.out_channels = 4});
  builder.softmax_cross_entropy(builder.dense(x, 2));
  const Graph graph = std::move(builder.finish()).value();
  EXPECT_EQ(named(graph, "stem.weight").shape, (Shape{4, 3, 1, 1}));
  EXPECT_EQ(named(graph, "stem.weight_2").shape, (Shape{4, 4, 1, 1}));
  EXPECT_NE(named(graph, "stem.weight").init.stream, named(graph, "stem.weight_2").init.stream);
}

TEST(GraphBuilder, ReportsTheFirstErrorWithItsLayer) {
  GraphBuilder builder("net");
  builder.begin_layer("conv1");
  const TensorId x = builder.input(1, 3, 4, 4);
  builder.begin_layer("conv2");
  const TensorId y = builder.conv2d(x, {.out_channels = 4, .kernel = 7});
  builder.begin_layer("fc");
  builder.softmax_cross_entropy(builder.dense(builder.relu(builder.add(y, x)), 10));
  const Result<Graph> graph = builder.finish();
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(graph.error().message,
            "layer 'conv2': conv2d: expects an image of at least 7 pixels a side for kernel 7 and padding 0, got 4");
}

TEST(GraphBuilder, RefusesAnEmptyInputAndAMissingLoss) {
  GraphBuilder empty("net");
  empty.begin_layer("input");
  empty.input(0, 3, 4, 4);
  EXPECT_EQ(empty.finish().error().message,
            "layer 'input': input: expects one input with extents of at least 1, got [0, 3, 4, 4]");
  GraphBuilder lossless("net");
  lossless.begin_layer("input");
  lossless.input(1, 3, 4, 4);
  EXPECT_EQ(lossless.finish().error().message, "graph 'net' has no loss");
}

TEST(GraphBuilder, UsingATensorOfNoGraphBreaksAnInvariant) {
  GraphBuilder builder("net");
  builder.begin_layer("input");
  EXPECT_THROW(builder.relu(7), std::logic_error);
}

}  // namespace
}  // namespace sluice
