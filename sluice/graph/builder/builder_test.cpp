#include "sluice/graph/builder/builder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sluice/base/random.hpp"
#include "sluice/graph/builder/validate.hpp"

namespace sluice::graph {
namespace {

const Tensor& named(const Graph& graph, std::string_view name) {
  const auto found = std::find_if(graph.tensors().begin(), graph.tensors().end(),
                                  [&](const Tensor& tensor) { return tensor.name == name; });
  SLUICE_CHECK(found != graph.tensors().end(), "no tensor " + std::string(name));
  return *found;
}

TEST(GraphBuilder, NamesAndInitialisesParametersByLayer) {
  GraphBuilder builder("net");
  builder.begin_layer("input");
  TensorId x = builder.input(2, 3, 8, 8, 10);
  builder.begin_layer("conv1");
  x = builder.batch_norm(builder.conv2d(x, {.out_channels = 4, .kernel = 3, .padding = 1, .bias = true}),
                         Activation::kRelu);
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
  TensorId x = builder.batch_norm(builder.input(2, 3, 8, 8, 10), Activation::kRelu);
  x = builder.max_pool(x, {.kernel = 2, .stride = 2});
  builder.softmax_cross_entropy(builder.dense(x, 10));
  const Graph graph = std::move(builder.finish()).value();

  const Op& norm = graph.op(1);
  ASSERT_EQ(norm.outputs.size(), 3U);
  EXPECT_EQ(norm.outputs[2], norm.inputs[2]) << "running statistics are updated in place";
  EXPECT_EQ(fused_activation(norm.attributes), Activation::kRelu);
  EXPECT_EQ(graph.tensor(graph.op(2).outputs[1]).dtype, DType::kU8);
  EXPECT_EQ(graph.tensor(graph.op(0).outputs[1]).dtype, DType::kI32);
  const Op& loss = graph.op(4);
  EXPECT_EQ(loss.inputs[1], graph.op(0).outputs[1]);
  EXPECT_EQ(graph.tensor(loss.outputs[0]).role, Role::kOutput);
}

TEST(GraphBuilder, MakesNamesOfOneLayerDistinct) {
  GraphBuilder builder("net");
  builder.begin_layer("stem");
  TensorId x = builder.input(1, 3, 8, 8, 10);
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
  const TensorId x = builder.input(1, 3, 4, 4, 10);
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
  empty.input(0, 3, 4, 4, 10);
  EXPECT_EQ(empty.finish().error().message,
            "layer 'input': input: expects one input op with extents of at least 1, got images of shape [0, 3, 4, 4]");
  GraphBuilder lossless("net");
  lossless.begin_layer("input");
  lossless.input(1, 3, 4, 4, 10);
  EXPECT_EQ(lossless.finish().error().message, "graph 'net' has no loss");
}

TEST(GraphBuilder, RefusesWhatIsLargerThanAnyMachine) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 33;
  GraphBuilder wide("net");
  wide.begin_layer("in");
  wide.softmax_cross_entropy(wide.dense(wide.input(4, 3, 8, 8, 10), kHuge));
  EXPECT_THAT(wide.finish().error().message, ::testing::HasSubstr("larger than any machine"));
  GraphBuilder many("net");
  many.begin_layer("in");
  many.softmax_cross_entropy(many.input(kHuge, kHuge, kHuge, 8, 10));
  EXPECT_THAT(many.finish().error().message, ::testing::HasSubstr("larger than any machine"));
}

TEST(GraphBuilder, DescribesTheStepsData) {
  GraphBuilder builder("net");
  builder.begin_layer("input");
  const auto data = builder.inputs({{"tokens", Content::kMaskedTokens, {2, 5}, 100},
                                    {"noise", Content::kNoise, {2, 8}},
                                    {"hidden", Content::kHiddenTokens, {2, 5}, 100}});
  builder.begin_layer("net");
  builder.softmax_cross_entropy(builder.dense(builder.embedding(data[0], 100, 8), 100));
  const Graph graph = std::move(builder.finish()).value();
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  const Tensor& tokens = named(graph, "input.tokens");
  EXPECT_EQ(tokens.content, Content::kMaskedTokens);
  EXPECT_EQ(tokens.dtype, DType::kI32);
  EXPECT_EQ(tokens.bound, 100);
  EXPECT_EQ(named(graph, "input.noise").dtype, DType::kF32);
  EXPECT_EQ(graph.ops().back().inputs[1], data[2]) << "the loss is against the hidden tokens";
}

TEST(GraphBuilder, MakesTheConvolutionsAskedFor) {
  GraphBuilder builder("net");
  builder.begin_layer("input");
  TensorId x = builder.input(2, 4, 8, 8, 10);
  builder.begin_layer("depthwise");
  x = builder.conv2d(x, {.out_channels = 8,
                         .kernel = 3,
                         .padding = 1,
                         .groups = 4,
                         .kernel_w = 1,
                         .padding_w = 0,
                         .activation = Activation::kRelu6});
  builder.begin_layer("up");
  x = builder.conv_transpose2d(x, {.out_channels = 6, .kernel = 4, .stride = 2, .padding = 1, .bias = true});
  builder.begin_layer("fc");
  builder.softmax_cross_entropy(builder.dense(x, 10));
  const Graph graph = std::move(builder.finish()).value();
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  EXPECT_EQ(named(graph, "depthwise.weight").shape, (Shape{8, 1, 3, 1}));
  EXPECT_FLOAT_EQ(named(graph, "depthwise.weight").init.stddev, std::sqrt(2.0F / 3.0F));
  EXPECT_EQ(fused_activation(graph.op(1).attributes), Activation::kRelu6);
  EXPECT_EQ(named(graph, "up.weight").shape, (Shape{8, 6, 4, 4}));
  EXPECT_EQ(named(graph, "up.bias").shape, (Shape{6}));
  EXPECT_EQ(graph.tensor(graph.op(2).outputs[0]).shape, (Shape{2, 6, 16, 16}));
}

TEST(GraphBuilder, UnrollsAnLstmWithOneLayerAStep) {
  GraphBuilder builder("net");
  builder.begin_layer("input");
  const auto data = builder.inputs({{"x", Content::kNoise, {3, 2, 5}}, {"labels", Content::kLabels, {3, 2}, 7}});
  builder.begin_layer("lstm1");
  const TensorId h = builder.lstm(data[0], 4);
  EXPECT_EQ(builder.shape(h), (Shape{3, 2, 4}));
  builder.begin_layer("fc");
  builder.softmax_cross_entropy(builder.dense(h, 7));
  const Graph graph = std::move(builder.finish()).value();
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  EXPECT_EQ(graph.layers, (std::vector<std::string>{"input", "lstm1", "lstm1.t0", "lstm1.t1", "lstm1.t2", "fc"}));

  std::vector<const Op*> cells;
  for (const Op& op : graph.ops()) {
    if (op.kind == OpKind::kLstmCell) cells.push_back(&op);
  }
  ASSERT_EQ(cells.size(), 3U);
  EXPECT_EQ(cells[0]->inputs.size(), 1U);
  EXPECT_EQ(cells[2]->inputs[1], cells[1]->outputs[0]);
  EXPECT_EQ(cells[2]->inputs[2], cells[1]->outputs[1]);
  EXPECT_EQ(cells[2]->inputs[3], cells[1]->inputs[3]) << "one recurrent weight";
  const Tensor& recurrent = graph.tensor(cells[2]->inputs[3]);
  EXPECT_EQ(recurrent.name, "lstm1.weight_hh");
  EXPECT_EQ(recurrent.init.kind, Init::Kind::kUniform);
  EXPECT_FLOAT_EQ(recurrent.init.stddev, 0.5F);
  EXPECT_EQ(recurrent.init.stream, stream_of("lstm1.weight_hh"));
}

TEST(GraphBuilder, GivesEachDropoutItsOwnRandomNumbers) {
  GraphBuilder builder("net");
  builder.begin_layer("input");
  TensorId x = builder.input(2, 4, 8, 8, 10);
  EXPECT_EQ(builder.dropout(x, 0), x);
  x = builder.dropout(builder.dropout(x, 0.5F), 0.5F);
  builder.softmax_cross_entropy(builder.dense(x, 10));
  const Graph graph = std::move(builder.finish()).value();
  EXPECT_NE(graph.op(1).as<DropoutAttributes>().stream, graph.op(2).as<DropoutAttributes>().stream);
  EXPECT_EQ(graph.op(1).as<DropoutAttributes>().stream, stream_of(graph.op(1).name));
}

TEST(GraphBuilder, TakesParametersAndOpsFromImporters) {
  GraphBuilder builder("net");
  builder.begin_layer("all");
  TensorId x = builder.input(2, 4, 8, 8, 10);
  Init given;
  given.kind = Init::Kind::kGiven;
  given.source = "::onnx::Conv_12";
  const TensorId weight = builder.named_parameter("features.0.weight", {6, 4, 1, 1}, given);
  ConvolutionAttributes attributes;
  attributes.window = square_window(1);
  x = builder.add(OpKind::kConv2d, attributes, {x, weight});
  builder.softmax_cross_entropy(builder.dense(x, 10));
  const Graph graph = std::move(builder.finish()).value();
  EXPECT_EQ(named(graph, "features.0.weight").init.source, "::onnx::Conv_12");
  EXPECT_EQ(graph.tensor(graph.op(1).outputs[0]).shape, (Shape{2, 6, 8, 8}));
}

TEST(GraphBuilder, KeepsAGivenNameForItsParameterAlone) {
  GraphBuilder builder("net");
  builder.begin_layer("fc");
  const TensorId x = builder.input(2, 4, 8, 8, 10);
  builder.named_parameter("fc.weight", {3}, {});
  builder.softmax_cross_entropy(builder.dense(x, 10));
  const Graph graph = std::move(builder.finish()).value();
  EXPECT_EQ(named(graph, "fc.weight").shape, (Shape{3}));
  EXPECT_EQ(named(graph, "fc.weight_2").shape, (Shape{10, 256}));
}

TEST(GraphBuilder, StartsWeightsAsTold) {
  GraphBuilder builder("net");
  builder.begin_layer("all");
  TensorId x = builder.input(2, 4, 8, 8, 10);
  builder.weight_init(0.02F);
  x = builder.dense(x, 16);
  builder.weight_init(std::nullopt);
  builder.softmax_cross_entropy(builder.dense(x, 10));
  const Graph graph = std::move(builder.finish()).value();
  EXPECT_FLOAT_EQ(named(graph, "all.weight").init.stddev, 0.02F);
  EXPECT_FLOAT_EQ(named(graph, "all.weight_2").init.stddev, std::sqrt(2.0F / 16.0F));
}

TEST(GraphBuilder, EndsEveryStageWithALoss) {
  GraphBuilder builder("net");
  builder.begin_layer("all");
  const TensorId x = builder.input(2, 4, 8, 8, 10);
  builder.sigmoid_cross_entropy(builder.dense(x, 1), 1);
  builder.end_stage("all");
  builder.sigmoid_cross_entropy(builder.dense(x, 1), 0);
  GraphBuilder unfinished = builder;
  EXPECT_EQ(unfinished.finish().error().message, "graph 'net' has ops after its last stage");
  builder.end_stage("other");
  GraphBuilder lossless = builder;
  lossless.end_stage("third");
  EXPECT_EQ(lossless.finish().error().message, "layer 'all': a stage ends without a loss");
  const Graph graph = std::move(builder.finish()).value();
  ASSERT_EQ(graph.stages.size(), 2U);
  EXPECT_EQ(graph.stages[0].end, 3);
  EXPECT_EQ(graph.stages[1].end, 5);
  EXPECT_EQ(graph.stages[0].trained.size(), 2U) << "weight and bias of the first dense layer";
  EXPECT_TRUE(graph.stages[1].trained.empty()) << "no name begins so";
}

TEST(GraphBuilder, UsingATensorOfNoGraphBreaksAnInvariant) {
  GraphBuilder builder("net");
  builder.begin_layer("input");
  EXPECT_THROW(builder.relu(7), std::logic_error);
}

}  // namespace
}  // namespace sluice::graph
