#include "sluice/graph/rewrite/delay_updates.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/graph/builder/validate.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/graph/rewrite/clip_gradients.hpp"
#include "sluice/models/model.hpp"

namespace sluice::graph {
namespace {

Graph resnet_step() { return models::build_training_model("resnet20", {.batch = 2, .image_size = 8}).value(); }

void expect_delayed(const Graph& graph) {
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  TensorId filled = -1;
  std::int64_t updates = 0, delays = 0;
  for (const Op& op : graph.ops()) {
    if (op.kind == OpKind::kDelayGradient) {
      ++delays;
      EXPECT_FALSE(is_in_flight(graph.tensor(op.inputs[0]))) << op.name;
      EXPECT_TRUE(is_in_flight(graph.tensor(op.outputs[0]))) << op.name;
      if (op.outputs.size() > 1) filled = op.outputs[1];
    }
    if (!is_update(op.kind)) continue;
    ++updates;
    EXPECT_EQ(delays, 0) << op.name << " reads gradients of the step before";
    EXPECT_TRUE(op.as<UpdateAttributes>().delayed);
    EXPECT_TRUE(is_in_flight(graph.tensor(op.inputs[1]))) << op.name;
    EXPECT_EQ(graph.tensor(op.inputs.back()).name, "gradients.filled");
  }
  EXPECT_EQ(updates, delays);
  EXPECT_EQ(filled, graph.ops().back().outputs.back()) << "the last op of the step fills";
}

TEST(DelayUpdates, KeepsGradientsForTheNextStep) { expect_delayed(delay_updates(resnet_step())); }

TEST(DelayUpdates, GoesTogetherWithClipping) {
  const Graph graph = clip_gradients(delay_updates(resnet_step()), 1);
  expect_delayed(graph);
  for (const Op& op : graph.ops()) {
    if (op.kind == OpKind::kSquaredSum) {
      EXPECT_TRUE(is_in_flight(graph.tensor(op.inputs[0]))) << op.name;
    }
    if (is_update(op.kind)) {
      EXPECT_TRUE(is_clipped(op)) << op.name;
    }
  }
}

TEST(DelayUpdates, AddsNothingButWhatIsInFlight) {
  const Graph plain = resnet_step(), delayed = delay_updates(plain);
  for (TensorId id = 0; id < delayed.tensor_count(); ++id) {
    const Tensor& tensor = delayed.tensor(id);
    EXPECT_EQ(is_in_flight(tensor), id >= plain.tensor_count()) << tensor.name;
    if (!is_in_flight(tensor)) continue;
    EXPECT_EQ(tensor.init.kind, Init::Kind::kZero) << tensor.name;
  }
}

}  // namespace
}  // namespace sluice::graph
