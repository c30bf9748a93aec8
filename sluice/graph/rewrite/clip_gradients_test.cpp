#include "sluice/graph/rewrite/clip_gradients.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/graph/autodiff/autodiff.hpp"
#include "sluice/graph/builder/builder.hpp"
#include "sluice/graph/builder/validate.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/models/model.hpp"

namespace sluice::graph {
namespace {

std::int64_t count_ops(const Graph& graph, OpKind kind) { return std::ranges::count(graph.ops(), kind, &Op::kind); }

std::int64_t updates_of(const Graph& graph) {
  return std::ranges::count_if(graph.ops(), [](const Op& op) { return is_update(op.kind); });
}

// Every update comes behind a factor that all of its loss's gradients were counted in.
void expect_clipped(const Graph& graph) {
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  EXPECT_EQ(count_ops(graph, OpKind::kSquaredSum), updates_of(graph));
  std::vector<TensorId> counted;  // gradients, by now
  for (const Op& op : graph.ops()) {
    if (op.kind == OpKind::kSquaredSum) counted.push_back(op.inputs[0]);
    if (!is_update(op.kind)) continue;
    ASSERT_TRUE(is_clipped(op)) << op.name;
    EXPECT_NE(std::ranges::find(counted, op.inputs[1]), counted.end()) << op.name;
    const auto factor = std::ranges::find_if(graph.ops(), [&](const Op& each) {
      return each.kind == OpKind::kClipFactor && each.outputs[0] == op.inputs[2 + moments_of(op.kind)];
    });
    ASSERT_NE(factor, graph.ops().end());
    EXPECT_FLOAT_EQ(factor->as<ClipAttributes>().norm, 0.5F);
  }
}

TEST(ClipGradients, CountsEveryGradientBeforeTheFirstUpdate) {
  const Graph plain = models::build_training_model("resnet20", {.batch = 2, .image_size = 8}).value();
  const Graph clipped = clip_gradients(plain, 0.5F);
  expect_clipped(clipped);
  EXPECT_EQ(count_ops(clipped, OpKind::kClipFactor), 1);
  EXPECT_EQ(updates_of(clipped), updates_of(plain));
  const auto first = std::ranges::find_if(clipped.ops(), [](const Op& op) { return is_update(op.kind); });
  EXPECT_EQ((first - 1)->kind, OpKind::kClipFactor);
}

TEST(ClipGradients, HasANormForEachLossWhoseUpdateIsReadInTheStep) {
  const Graph clipped =
      clip_gradients(models::build_training_model("dcgan", {.batch = 2, .image_size = 16, .width = 4}).value(), 0.5F);
  expect_clipped(clipped);
  EXPECT_EQ(count_ops(clipped, OpKind::kClipFactor), 2);
}

}  // namespace
}  // namespace sluice::graph
