// Losses are what loss ops make, whatever they are called.
#include <gtest/gtest.h>

#include "sluice/graph/builder/builder.hpp"
#include "sluice/train/session.hpp"

namespace sluice {
namespace {

TEST(LossTensors, AreNotKnownByTheirNames) {
  GraphBuilder builder("net");
  builder.begin_layer("all");
  const TensorId x = builder.input(2, 4, 8, 8, 10);
  const TensorId loss = builder.sigmoid_cross_entropy(builder.dense(x, 1), 1);
  Graph graph = builder.finish().value();
  graph.tensor(loss).name = "distance";
  graph.add_tensor({.name = "loss", .shape = {1}, .role = Role::kOutput});
  EXPECT_EQ(loss_tensors(graph), std::vector<TensorId>{loss});
}

}  // namespace
}  // namespace sluice
