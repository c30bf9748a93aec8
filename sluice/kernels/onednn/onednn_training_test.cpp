// Networks trained for some steps on oneDNN and on the reference: losses, parameters and momenta are alike.
#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/graph/builder/builder.hpp"
#include "sluice/graph/rewrite/prepare.hpp"
#include "sluice/graph/rewrite/slice_batch.hpp"
#include "sluice/graph/rewrite/slice_dense.hpp"
#include "sluice/kernels/backends/backends.hpp"
#include "sluice/models/model.hpp"
#include "sluice/testing/training_run.hpp"

namespace sluice {
namespace {

// Of each tensor's length. Kernels differ in rounding, 1e-6 or so; a gradient that is off by a percent, or in one of
// its rows, differs by more than this.
constexpr double kTrainingTolerance = 1e-3;

NamedValues trained_by(const std::unique_ptr<Backend>& backend, const Graph& graph) {
  return trained(*compiled(backend, graph));
}

void expect_trains_as_the_reference(const Graph& graph, double tolerance = kTrainingTolerance) {
  const NamedValues actual = trained_by(make_onednn_backend(), graph);
  EXPECT_EQ(farthest(actual, trained_by(make_reference_backend(), graph), tolerance), "");
}

Graph finish(GraphBuilder builder) {
  auto forward = builder.finish();
  SLUICE_CHECK(forward.ok(), forward.error().message);
  return std::move(*forward);
}

TEST(OnednnTraining, Resnet20FollowsTheReference) {
  const auto graph = build_training_model("resnet20", {.batch = 16, .image_size = 8, .classes = 10});
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  expect_trains_as_the_reference(*graph);
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
  const Graph whole = build_training_graph(finish(std::move(builder)), {});
  const Graph sliced = slice_dense(whole, 32 * kKiB);
  ASSERT_GT(sliced.op_count(), whole.op_count());
  expect_trains_as_the_reference(whole);
  expect_trains_as_the_reference(sliced);
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
  const Graph whole = build_training_graph(finish(std::move(builder)), {});
  const Graph sliced = slice_batch(whole, 80 * kKiB);
  ASSERT_GT(sliced.op_count(), whole.op_count());
  const NamedValues expected = trained_by(make_reference_backend(), whole);
  EXPECT_EQ(farthest(trained_by(make_reference_backend(), sliced), expected, kTrainingTolerance), "");
  EXPECT_EQ(farthest(trained_by(make_onednn_backend(), sliced), expected, kTrainingTolerance), "");
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
  const Graph graph = prepare_training_graph(finish(std::move(builder)), {});
  const auto fast = compiled(make_onednn_backend(), graph);
  EXPECT_TRUE(std::ranges::any_of(fast->graph().ops(), [](const Op& op) {
    return op.implementations.at(0).name.find("wino") != std::string::npos;
  }));
  expect_trains_as_the_reference(graph);
}

}  // namespace
}  // namespace sluice
