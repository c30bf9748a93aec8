#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "sluice/exec/backend.hpp"
#include "sluice/graph/builder.hpp"
#include "sluice/graph/prepare.hpp"
#include "sluice/graph/slice_batch.hpp"
#include "sluice/graph/slice_dense.hpp"
#include "sluice/models/model.hpp"
#include "sluice/testing/op_cases.hpp"
#include "sluice/testing/wave_input.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t kSeed = 20240611;

std::unique_ptr<CompiledGraph> compile(const std::unique_ptr<Backend>& backend, const Graph& graph, int threads = 2) {
  auto compiled = backend->compile(graph, threads);
  EXPECT_TRUE(compiled.ok()) << (compiled.ok() ? "" : compiled.error().message);
  return std::move(compiled).value();
}

float largest(const std::vector<float>& values) {
  float result = 0;
  for (const float value : values) result = std::max(result, std::abs(value));
  return result;
}

void expect_close(const std::vector<float>& actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  const float tolerance = 1e-4F * std::max(largest(expected), 1e-3F);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_FALSE(std::isnan(actual[i])) << "element " << i;
    ASSERT_NEAR(actual[i], expected[i], tolerance) << "element " << i;
  }
}

class OnednnOps : public testing::TestWithParam<OpCase> {};

TEST_P(OnednnOps, MatchesReference) {
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  const Graph& logical = GetParam().graph;
  const auto fast = compile(make_onednn_backend(), logical);
  const auto slow = compile(make_reference_backend(), logical);
  GraphRunner fast_runner(*fast);
  GraphRunner slow_runner(*slow);
  const NamedValues leaves = leaf_values(logical, kSeed);
  const StepContext context{.learning_rate = 0.1F};
  const NamedValues actual = run_case(logical, fast_runner, leaves, context);
  const NamedValues expected = run_case(logical, slow_runner, leaves, context);
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto& [name, values] : expected) {
    SCOPED_TRACE(name);
    expect_close(actual.at(name), values);
  }
}

// The whole memory is first filled with `garbage`, so that what an op forgets to write shows.
std::vector<std::byte> bits_after_run(CompiledGraph& compiled, const NamedValues& leaves, Bytes shift, int garbage) {
  GraphRunner runner(compiled, shift);
  const auto tensor_count = compiled.graph().tensor_count();
  for (TensorId id = 0; id < tensor_count; ++id) std::memset(runner.data(id), garbage, runner.bytes(id).size());
  set_leaves(runner, leaves);
  runner.run_step({.learning_rate = 0.1F});
  std::vector<std::byte> bits;
  for (TensorId id = 0; id < tensor_count; ++id) {
    if (compiled.graph().tensor(id).role == Role::kWorkspace) continue;
    bits.insert(bits.end(), runner.bytes(id).begin(), runner.bytes(id).end());
  }
  return bits;
}

TEST_P(OnednnOps, GivesTheSameBitsAtAnyAddressAndOverAnyGarbage) {
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  const Graph& logical = GetParam().graph;
  const NamedValues leaves = leaf_values(logical, kSeed);
  for (const int threads : {1, 2}) {
    SCOPED_TRACE(threads);
    const auto compiled = compile(make_onednn_backend(), logical, threads);
    const auto bits = bits_after_run(*compiled, leaves, 0, 0);
    EXPECT_TRUE(bits == bits_after_run(*compiled, leaves, 0, 0)) << "two equal runs differ";
    EXPECT_TRUE(bits == bits_after_run(*compiled, leaves, 37 * 4 * kKiB, 0xFF)) << "another address differs";
    const auto again = compile(make_onednn_backend(), logical, threads);
    EXPECT_TRUE(bits == bits_after_run(*again, leaves, 4 * kKiB, 0x7F)) << "compiled again, it differs";
  }
}

struct AlignedDelete {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using AlignedBuffer = std::unique_ptr<std::byte, AlignedDelete>;

AlignedBuffer copy_of(std::span<const std::byte> bytes) {
  const auto size = static_cast<std::size_t>(align_up(static_cast<Bytes>(bytes.size()), 4 * kKiB));
  AlignedBuffer copy(static_cast<std::byte*>(std::aligned_alloc(static_cast<std::size_t>(4 * kKiB), size)));
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  return copy;
}

bool same_size(GraphRunner& runner, OpIndex op, const InPlace& pair) {
  const Op& node = runner.graph().op(op);
  return runner.bytes(node.inputs[static_cast<std::size_t>(pair.input)]).size() ==
         runner.bytes(node.outputs[static_cast<std::size_t>(pair.output)]).size();
}

// Bits of output `pair.output` of `op`, written over a copy of its input or to a place of its own.
std::vector<std::byte> output_bits(GraphRunner& runner, OpIndex op, const InPlace& pair, bool in_place) {
  const Op& node = runner.graph().op(op);
  const auto source = static_cast<std::size_t>(pair.input);
  const auto input_bytes = runner.bytes(node.inputs[source]);
  const auto output_size = runner.bytes(node.outputs[static_cast<std::size_t>(pair.output)]).size();
  EXPECT_EQ(input_bytes.size(), output_size);
  const AlignedBuffer input = copy_of(input_bytes);
  const AlignedBuffer apart = copy_of(input_bytes);
  auto operands = runner.operands(op);
  std::byte* const target = in_place ? input.get() : apart.get();
  operands[source] = input.get();
  operands[node.inputs.size() + static_cast<std::size_t>(pair.output)] = target;
  EXPECT_TRUE(runner.compiled().run(op, operands, {.learning_rate = 0.1F}).ok());
  return {target, target + output_size};
}

TEST_P(OnednnOps, GivesTheSameBitsInPlace) {
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  const Graph& logical = GetParam().graph;
  const auto compiled = compile(make_onednn_backend(), logical);
  GraphRunner runner(*compiled);
  set_leaves(runner, leaf_values(logical, kSeed));
  for (OpIndex op = 0; op < compiled->graph().op_count(); ++op) {
    SCOPED_TRACE(compiled->graph().op(op).name);
    for (const InPlace& pair : compiled->graph().op(op).in_place) {
      if (!same_size(runner, op, pair)) continue;  // broadcasting: never merged
      EXPECT_TRUE(output_bits(runner, op, pair, true) == output_bits(runner, op, pair, false));
    }
    runner.run_op(op, {.learning_rate = 0.1F});
  }
}

TEST_P(OnednnOps, PlainFormRoundTrips) {
  const auto compiled = compile(make_onednn_backend(), GetParam().graph);
  GraphRunner runner(*compiled);
  for (const auto& [name, values] : leaf_values(GetParam().graph, kSeed)) {
    const TensorId id = runner.find(name);
    if (compiled->graph().tensor(id).dtype != DType::kF32) continue;
    runner.set_plain(id, values);
    EXPECT_EQ(runner.plain(id), values) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, OnednnOps, testing::ValuesIn(op_cases()),
                         [](const auto& tested) { return test_name(tested.param); });

std::vector<float> losses(const std::unique_ptr<Backend>& backend, const Graph& graph, int steps) {
  const auto compiled = compile(backend, graph);
  GraphRunner runner(*compiled);
  runner.initialise(kSeed);
  WaveInput input(compiled->graph());
  TensorId loss = 0;
  for (TensorId id = 0; id < compiled->graph().tensor_count(); ++id)
    if (compiled->graph().tensor(id).role == Role::kOutput) loss = id;
  std::vector<float> result;
  for (int step = 0; step < steps; ++step) {
    // A small rate: with a large one a deep network multiplies the kernels' differences in rounding at every step.
    runner.run_step({.step = step, .learning_rate = 0.01F, .input = &input});
    result.push_back(runner.plain(loss).at(0));
  }
  return result;
}

TEST(OnednnTraining, Resnet20FollowsTheReference) {
  const auto graph = build_training_model("resnet20", {.batch = 16, .image_size = 8, .classes = 10});
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto actual = losses(make_onednn_backend(), *graph, 3);
  const auto expected = losses(make_reference_backend(), *graph, 3);
  EXPECT_THAT(actual, testing::Pointwise(testing::FloatNear(1e-3F), expected));
  EXPECT_NE(actual[0], actual[1]);
}

TEST(OnednnTraining, SlicedDenseLayersFollowTheWholeOnes) {
  GraphBuilder builder("dense");
  builder.begin_layer("input");
  TensorId x = builder.input(4, 3, 8, 8, 10);
  builder.begin_layer("conv");
  x = builder.max_pool(builder.relu(builder.conv2d(x, {.out_channels = 16, .kernel = 3, .padding = 1, .bias = true})),
                       {});
  builder.begin_layer("fc1");
  x = builder.relu(builder.dense(x, 96));
  builder.begin_layer("fc2");
  builder.softmax_cross_entropy(builder.dense(x, 10));
  const auto forward = builder.finish();
  ASSERT_TRUE(forward.ok()) << forward.error().message;
  const Graph whole = build_training_graph(*forward, {});
  const Graph sliced = slice_dense(whole, 32 * kKiB);
  ASSERT_GT(sliced.op_count(), whole.op_count());
  const auto expected = losses(make_reference_backend(), whole, 3);
  EXPECT_THAT(losses(make_onednn_backend(), whole, 3), testing::Pointwise(testing::FloatNear(1e-3F), expected));
  EXPECT_THAT(losses(make_onednn_backend(), sliced, 3), testing::Pointwise(testing::FloatNear(1e-3F), expected));
}

TEST(OnednnTraining, ConvolutionsSlicedBySamplesFollowTheWholeOnes) {
  GraphBuilder builder("conv");
  builder.begin_layer("input");
  TensorId x = builder.input(6, 3, 16, 16, 10);
  builder.begin_layer("conv1");
  x = builder.relu(builder.conv2d(x, {.out_channels = 16, .kernel = 3, .padding = 1, .bias = true}));
  x = builder.max_pool(builder.relu(builder.conv2d(x, {.out_channels = 20, .kernel = 3, .padding = 1, .bias = true})),
                       {});
  builder.begin_layer("conv2");
  x = builder.relu(builder.conv2d(x, {.out_channels = 16, .kernel = 3, .padding = 1, .bias = true}));
  builder.begin_layer("fc");
  builder.softmax_cross_entropy(builder.dense(x, 10));
  const auto forward = builder.finish();
  ASSERT_TRUE(forward.ok()) << forward.error().message;
  const Graph whole = build_training_graph(*forward, {});
  const Graph sliced = slice_batch(whole, 80 * kKiB);
  ASSERT_GT(sliced.op_count(), whole.op_count());
  const auto expected = losses(make_reference_backend(), whole, 3);
  EXPECT_THAT(losses(make_reference_backend(), sliced, 3), testing::Pointwise(testing::FloatNear(1e-4F), expected));
  EXPECT_THAT(losses(make_onednn_backend(), sliced, 3), testing::Pointwise(testing::FloatNear(1e-3F), expected));
}

Graph small_network() {
  GraphBuilder builder("small");
  builder.begin_layer("input");
  TensorId x = builder.input(8, 3, 16, 16, 10);
  builder.begin_layer("conv1");
  x = builder.batch_norm(builder.conv2d(x, {.out_channels = 32, .kernel = 3, .padding = 1}), Activation::kRelu6);
  builder.begin_layer("conv2");
  const TensorId depthwise = builder.conv2d(x, {.out_channels = 32, .kernel = 3, .padding = 1, .groups = 32});
  x = builder.add(builder.batch_norm(depthwise), x, Activation::kRelu);
  x = builder.max_pool(builder.concat({x, builder.slice(x, 1, 16, 32)}, 1), {});
  builder.begin_layer("conv3");
  x = builder.relu(builder.conv2d(x, {.out_channels = 24, .kernel = 1, .bias = true}));
  x = builder.avg_pool(x, {});
  builder.begin_layer("fc");
  builder.softmax_cross_entropy(builder.dense(builder.reshape(x, {8, 24 * 4 * 4}), 10));
  auto graph = builder.finish();
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().message);
  return std::move(graph).value();
}

Bytes activation_bytes(const Graph& graph) {
  Bytes bytes = 0;
  for (const Tensor& tensor : graph.tensors())
    if (tensor.role == Role::kActivation && tensor.shape.size() == 4) bytes += tensor.bytes;
  return bytes;
}

TEST(OnednnTraining, HalfPrecisionFollowsTheReferenceInHalfTheBytes) {
  const Graph exact = prepare_training_graph(small_network(), {});
  const Graph rounded = prepare_training_graph(small_network(), {}, Precision::kBF16);
  const auto whole = make_onednn_backend()->compile(exact, 2);
  const auto half = make_onednn_backend()->compile(rounded, 2);
  ASSERT_TRUE(whole.ok());
  if (!half.ok()) GTEST_SKIP() << half.error().message;
  EXPECT_LT(activation_bytes((*half)->graph()), activation_bytes((*whole)->graph()) * 11 / 20);
  const auto expected = losses(make_reference_backend(), exact, 3);
  EXPECT_THAT(losses(make_onednn_backend(), exact, 3), testing::Pointwise(testing::FloatNear(1e-3F), expected));
  EXPECT_THAT(losses(make_onednn_backend(), rounded, 3), testing::Pointwise(testing::FloatNear(3e-2F), expected));
}

TEST(OnednnTraining, WinogradsConvolutionsFollowTheDirectOnes) {
  GraphBuilder builder("winograd");
  builder.begin_layer("input");
  TensorId x = builder.input(8, 3, 32, 32, 10);
  builder.begin_layer("conv1");
  x = builder.relu(builder.conv2d(x, {.out_channels = 64, .kernel = 3, .padding = 1, .bias = true}));
  builder.begin_layer("conv2");
  x = builder.relu(builder.conv2d(x, {.out_channels = 64, .kernel = 3, .padding = 1, .bias = true}));
  builder.begin_layer("fc1");
  x = builder.relu(builder.dense(x, 100));  // so large that there is scratch to grant
  builder.begin_layer("fc2");
  builder.softmax_cross_entropy(builder.dense(x, 10));
  const auto forward = builder.finish();
  ASSERT_TRUE(forward.ok()) << forward.error().message;
  const Graph graph = prepare_training_graph(*forward, {});
  const auto compiled = make_onednn_backend()->compile(graph, 2);
  ASSERT_TRUE(compiled.ok());
  EXPECT_TRUE(std::ranges::any_of((*compiled)->graph().ops(), [](const Op& op) {
    return op.implementations.at(0).name.find("wino") != std::string::npos;
  }));
  const auto expected = losses(make_reference_backend(), graph, 2);
  EXPECT_THAT(losses(make_onednn_backend(), graph, 2), testing::Pointwise(testing::FloatNear(1e-4F), expected));
}

TEST(OnednnLowering, ReshapesAreViewsAndWeightsAreCastToTheLayoutTheyAreReadIn) {
  const Graph rounded = prepare_training_graph(small_network(), {}, Precision::kBF16);
  const auto compiled = make_onednn_backend()->compile(rounded, 2);
  if (!compiled.ok()) GTEST_SKIP() << compiled.error().message;
  bool sees_view = false;
  for (const Op& op : (*compiled)->graph().ops()) {
    EXPECT_NE(op.kind, OpKind::kReshape) << op.name;
    if (op.kind == OpKind::kDense) sees_view = op.views == "0:[8, 384]";
    if (op.kind == OpKind::kReorder) {
      EXPECT_NE((*compiled)->graph().tensor(op.inputs[0]).role, Role::kParameter) << op.name;
    }
  }
  EXPECT_TRUE(sees_view);
}

// What makes a step fast: blocked kernels throughout, and no copies but those of weights for backward data.
TEST(OnednnLowering, Resnet50ReordersOnlyWeights) {
  const auto graph = build_training_model("resnet50", {.batch = 2});
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto compiled = compile(make_onednn_backend(), *graph);
  const Graph& executable = compiled->graph();
  for (const Op& op : executable.ops()) {
    EXPECT_THAT(op.implementations.at(0).name, testing::Not(testing::HasSubstr("ref"))) << op.name;
    EXPECT_THAT(op.implementations.at(0).name, testing::Not(testing::HasSubstr("gemm:"))) << op.name;
    if (op.kind == OpKind::kReorder) {
      EXPECT_EQ(executable.tensor(op.inputs[0]).role, Role::kParameter) << op.name;
      EXPECT_EQ(executable.tensor(op.outputs[0]).role, Role::kWorkspace) << op.name;
    }
  }
}

TEST(OnednnLowering, AskingForNoThreadsIsAnError) {
  const auto graph = build_training_model("resnet20", {.batch = 1});
  ASSERT_TRUE(graph.ok());
  const auto compiled = make_onednn_backend()->compile(*graph, 0);
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(compiled.error().code, ErrorCode::kBadInput);
}

}  // namespace
}  // namespace sluice
