#include "sluice/profile/network_times.hpp"

#include <gtest/gtest.h>

namespace sluice::profile {
namespace {

// A gradient of 1000 elements in bf16 whose parts four ranks add up, and a parameter in fp32 that they put together.
graph::Graph step_of_four() {
  graph::Graph graph;
  graph.layers = {"layer"};
  const graph::TensorId dw =
      graph.add_tensor({.name = "dw", .shape = {1000}, .dtype = graph::DType::kBF16, .role = graph::Role::kGradient});
  const graph::TensorId part =
      graph.add_tensor({.name = "part", .shape = {250}, .dtype = graph::DType::kBF16, .role = graph::Role::kGradient});
  const graph::TensorId own = graph.add_tensor({.name = "own", .shape = {250}, .role = graph::Role::kGradient});
  const graph::TensorId w = graph.add_tensor({.name = "w", .shape = {1000}, .role = graph::Role::kParameter});
  const graph::RanksAttributes four{.ranks = 4};
  graph.add_op({.name = "scatter",
                .kind = graph::OpKind::kReduceScatter,
                .attributes = four,
                .inputs = {dw},
                .outputs = {part}});
  graph.add_op({.name = "cast", .kind = graph::OpKind::kCast, .inputs = {part}, .outputs = {own}});
  graph.add_op(
      {.name = "gather", .kind = graph::OpKind::kAllGather, .attributes = four, .inputs = {own}, .outputs = {w}});
  return graph;
}

TEST(NetworkTimes, ARankSendsAllPartsButItsOwn) {
  const graph::Graph graph = step_of_four();
  EXPECT_EQ(bytes_to_ranks(graph, graph.op(0)), 2000 * 3 / 4);
  EXPECT_EQ(bytes_to_ranks(graph, graph.op(1)), 0);
  EXPECT_EQ(bytes_to_ranks(graph, graph.op(2)), 4000 * 3 / 4);
  EXPECT_EQ(bytes_to_ranks(graph), 1500 + 3000);
}

TEST(NetworkTimes, AreAddedOnEveryProcessor) {
  const graph::Graph graph = step_of_four();
  Profile profile;
  profile.op_seconds.assign(graph.ops().size(), 1.0);
  profile.choices[{0, 1}] = std::make_shared<const OpTimes>(OpTimes{profile.op_seconds, {}});
  add_network_seconds(graph, 1000, profile);
  for (const auto& seconds : {profile.op_seconds, profile.choices.at({0, 1})->warm}) {
    EXPECT_DOUBLE_EQ(seconds[0], 1 + 1.5);
    EXPECT_DOUBLE_EQ(seconds[1], 1);
    EXPECT_DOUBLE_EQ(seconds[2], 1 + 3);
  }
  EXPECT_TRUE(profile.cold_seconds.empty());
}

}  // namespace
}  // namespace sluice::profile
