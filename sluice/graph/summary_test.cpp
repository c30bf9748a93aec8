#include "sluice/graph/summary.hpp"

#include <gtest/gtest.h>

#include "sluice/graph/autodiff/autodiff.hpp"
#include "sluice/graph/builder/builder.hpp"

namespace sluice::graph {
namespace {

Graph forward_graph() {
  GraphBuilder builder("net");
  builder.begin_layer("input");
  TensorId x = builder.input(2, 3, 8, 8, 10);
  builder.begin_layer("conv1");
  x = builder.conv2d(x, {.out_channels = 4, .kernel = 3, .stride = 2, .padding = 1, .bias = true});
  builder.begin_layer("fc");
  builder.softmax_cross_entropy(builder.dense(x, 10));
  return std::move(builder.finish()).value();
}

// conv1: 2 x 4 x 4 x 4 outputs, each a sum over 3 x 3 x 3; fc: 2 x 10 outputs over 64.
constexpr double kConvFlops = 2.0 * 128 * 27;
constexpr double kDenseFlops = 2.0 * 20 * 64;

TEST(Summary, CountsTheForwardGraph) {
  const GraphSummary summary = summarize(forward_graph());
  EXPECT_EQ(summary.ops, 4);
  EXPECT_EQ(summary.layers, 3U);
  EXPECT_EQ(summary.parameters, 4 * 27 + 4 + 640 + 10);
  EXPECT_EQ(summary.bytes.at(Role::kParameter), 4 * summary.parameters);
  EXPECT_EQ(summary.bytes.at(Role::kInput), 4 * (2 * 3 * 64 + 2));
  EXPECT_EQ(summary.bytes.at(Role::kOutput), 4);
  EXPECT_DOUBLE_EQ(summary.flops, kConvFlops + kDenseFlops);
}

TEST(Summary, CountsBackwardWorkWithoutTheImagesGradient) {
  const GraphSummary summary = summarize(build_training_graph(forward_graph(), {}));
  EXPECT_DOUBLE_EQ(summary.flops, 2 * kConvFlops + 3 * kDenseFlops);
  EXPECT_EQ(summary.bytes.at(Role::kGradient), summary.bytes.at(Role::kParameter));
  EXPECT_EQ(summary.bytes.at(Role::kOptimizerState), summary.bytes.at(Role::kParameter));
}

}  // namespace
}  // namespace sluice::graph
