// Networks trained for some steps on oneDNN and on the reference: losses, parameters and momenta are alike.
#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/graph/builder/builder.hpp"
#include "sluice/graph/rewrite/prepare.hpp"
#include "sluice/graph/rewrite/slice_batch.hpp"
#include "sluice/graph/rewrite/slice_dense.hpp"
#include "sluice/kernels/backends/backends.hpp"
#include "sluice/kernels/onednn/interface/describe.hpp"
#include "sluice/models/model.hpp"
#include "sluice/testing/training_run.hpp"

namespace sluice::kernels {
namespace {

// Of each tensor's length. Kernels differ in rounding, 1e-6 or so; a gradient that is off by a percent, or in one of
// its rows, differs by more than this.
constexpr double kTrainingTolerance = 1e-3;

testing::NamedValues trained_by(const std::unique_ptr<Backend>& backend, const graph::Graph& graph) {
  return testing::trained(*testing::compiled(backend, graph));
}

void expect_trains_as_the_reference(const graph::Graph& graph, double tolerance = kTrainingTolerance) {
  const testing::NamedValues actual = trained_by(make_onednn_backend(), graph);
  EXPECT_EQ(testing::farthest(actual, trained_by(make_reference_backend(), graph), tolerance), "");
}

graph::Graph finish(graph::GraphBuilder builder) {
  auto forward = builder.finish();
  SLUICE_CHECK(forward.ok(), forward.error().message);
  return std::move(*forward);
}

TEST(OnednnTraining, Resnet20FollowsTheReference) {
  const auto graph = models::build_training_model("resnet20", {.batch = 16, .image_size = 8, .classes = 10});
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  expect_trains_as_the_reference(*graph);
}

TEST(OnednnTraining, SlicedDenseLayersFollowTheWholeOnes) {
  graph::GraphBuilder builder("dense");
  builder.begin_layer("input");
  graph::TensorId x = builder.input(4, 3, 8, 8, 10);
  builder.begin_layer("conv");
  x = builder.max_pool(builder.relu(builder.conv2d(x, {.out_channels = 16, .kernel = 3, .padding = 1, .bias = true})),
                       {});
  builder.begin_layer("fc1");
  x = builder.relu(builder.dense(x, 96));
  builder.begin_layer("fc2");
  builder.softmax_cross_entropy(builder.dense(x, 10));
  const graph::Graph whole = graph::build_training_graph(finish(std::move(builder)), {});
  const graph::Graph sliced = graph::slice_dense(whole, 32 * kKiB);
  ASSERT_GT(sliced.op_count(), whole.op_count());
  expect_trains_as_the_reference(whole);
  expect_trains_as_the_reference(sliced);
}

TEST(OnednnTraining, ConvolutionsSlicedBySamplesFollowTheWholeOnes) {
  graph::GraphBuilder builder("conv");
  builder.begin_layer("input");
  graph::TensorId x = builder.input(6, 3, 16, 16, 10);
  builder.begin_layer("conv1");
  x = builder.relu(builder.conv2d(x, {.out_channels = 16, .kernel = 3, .padding = 1, .bias = true}));
  x = builder.max_pool(builder.relu(builder.conv2d(x, {.out_channels = 20, .kernel = 3, .padding = 1, .bias = true})),
                       {});
  builder.begin_layer("conv2");
  x = builder.relu(builder.conv2d(x, {.out_channels = 16, .kernel = 3, .padding = 1, .bias = true}));
  builder.begin_layer("fc");
  builder.softmax_cross_entropy(builder.dense(x, 10));
  const graph::Graph whole = graph::build_training_graph(finish(std::move(builder)), {});
  const graph::Graph sliced = graph::slice_batch(whole, 80 * kKiB);
  ASSERT_GT(sliced.op_count(), whole.op_count());
  const testing::NamedValues expected = trained_by(make_reference_backend(), whole);
  EXPECT_EQ(testing::farthest(trained_by(make_reference_backend(), sliced), expected, kTrainingTolerance), "");
  EXPECT_EQ(testing::farthest(trained_by(make_onednn_backend(), sliced), expected, kTrainingTolerance), "");
}

TEST(OnednnTraining, WinogradsConvolutionsFollowTheDirectOnes) {
  if (kIsOneDnn3) GTEST_SKIP() << "oneDNN 3 has no Winograd convolutions";
  graph::GraphBuilder builder("winograd");
  builder.begin_layer("input");
  graph::TensorId x = builder.input(8, 3, 32, 32, 10);
  builder.begin_layer("conv1");
  x = builder.relu(builder.conv2d(x, {.out_channels = 64, .kernel = 3, .padding = 1, .bias = true}));
  builder.begin_layer("conv2");
  x = builder.relu(builder.conv2d(x, {.out_channels = 64, .kernel = 3, .padding = 1, .bias = true}));
  builder.begin_layer("fc1");
  x = builder.relu(builder.dense(x, 100));  // so large that there is scratch to grant
  builder.begin_layer("fc2");
  builder.softmax_cross_entropy(builder.dense(x, 10));
  const graph::Graph graph = graph::prepare_training_graph(finish(std::move(builder)), {});
  const auto fast = testing::compiled(make_onednn_backend(), graph);
  EXPECT_TRUE(std::ranges::any_of(fast->graph().ops(), [](const graph::Op& op) {
    return op.implementations.at(0).name.find("wino") != std::string::npos;
  }));
  expect_trains_as_the_reference(graph);
}

}  // namespace
}  // namespace sluice::kernels
