// Losses are what loss ops make, whatever they are called.
#include <gtest/gtest.h>

#include "sluice/graph/builder/builder.hpp"
#include "sluice/train/session.hpp"

namespace sluice::train {
namespace {

TEST(LossTensors, AreNotKnownByTheirNames) {
  graph::GraphBuilder builder("net");
  builder.begin_layer("all");
  const graph::TensorId x = builder.input(2, 4, 8, 8, 10);
  const graph::TensorId loss = builder.sigmoid_cross_entropy(builder.dense(x, 1), 1);
  graph::Graph graph = builder.finish().value();
  graph.tensor(loss).name = "distance";
  graph.add_tensor({.name = "loss", .shape = {1}, .role = graph::Role::kOutput});
  EXPECT_EQ(loss_tensors(graph), std::vector<graph::TensorId>{loss});
}

}  // namespace
}  // namespace sluice::train
