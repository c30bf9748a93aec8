#include "sluice/planners/schedule/moving_units.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/base/check.hpp"
#include "sluice/planners/schedule/gaps.hpp"
#include "sluice/testing/tiny_step.hpp"

namespace sluice::planners {
namespace {

using testing::add_tiny_op;
using testing::add_tiny_tensor;

// Two layers forward and the same two backward, one batch norm in each: x is normalised into y with the statistics of
// x, which the backward pass reads again; w, scale and momentum are persistent.
struct Norms {
  graph::Graph graph;
  graph::TensorId x = testing::add_tiny_tensor(graph, "x", graph::Role::kActivation, kMiB);
  graph::TensorId statistics = testing::add_tiny_tensor(graph, "statistics", graph::Role::kActivation, 128);
  graph::TensorId y = testing::add_tiny_tensor(graph, "y", graph::Role::kActivation, kMiB);
  graph::TensorId mask = testing::add_tiny_tensor(graph, "mask", graph::Role::kActivation, 1000);
  graph::TensorId factors = testing::add_tiny_tensor(graph, "factors", graph::Role::kActivation, 500);
  graph::TensorId scratch = testing::add_tiny_tensor(graph, "scratch", graph::Role::kWorkspace, 64);
  graph::TensorId weight = testing::add_tiny_tensor(graph, "weight", graph::Role::kParameter, kMiB);
  graph::TensorId scale = testing::add_tiny_tensor(graph, "scale", graph::Role::kParameter, 128);
  graph::TensorId shift = testing::add_tiny_tensor(graph, "shift", graph::Role::kParameter, 128);
  graph::TensorId loss = testing::add_tiny_tensor(graph, "loss", graph::Role::kOutput, 4);
  graph::Liveness liveness;

  Norms() {
    graph.layers = {"0", "1"};
    testing::add_tiny_op(graph, "0 start", {}, {});
    testing::add_tiny_op(graph, "1 convolution", {weight}, {x});
    testing::add_tiny_op(graph, "2 norm", {x, scale, shift}, {y, statistics, mask, scratch});
    testing::add_tiny_op(graph, "3 next layer", {y}, {factors});
    testing::add_tiny_op(graph, "4 its gradient", {y}, {loss});
    testing::add_tiny_op(graph, "5 mask", {factors}, {});
    testing::add_tiny_op(graph, "6 norm's gradient", {x, statistics, scale, mask}, {scale, shift});
    testing::add_tiny_op(graph, "7 convolution's gradient", {x, weight, mask}, {weight});
    for (const graph::OpIndex op : {3, 4, 5}) graph.op(op).layer = 1;
    for (const graph::OpIndex op : {4, 5, 6, 7}) graph.op(op).phase = graph::Phase::kBackward;
    liveness = graph::analyze_liveness(graph);
  }
};

const MovingUnit& unit_of(const std::vector<MovingUnit>& units, graph::TensorId id) {
  const auto holds = [&](const MovingUnit& unit) {
    return std::find(unit.tensors.begin(), unit.tensors.end(), id) != unit.tensors.end();
  };
  SLUICE_CHECK(std::count_if(units.begin(), units.end(), holds) == 1, "every tensor is in one unit");
  return *std::find_if(units.begin(), units.end(), holds);
}

TEST(MovingUnits, ASmallTensorJoinsALargeOneThatItsOpsUseAnyway) {
  const Norms norms;
  const auto units = find_moving_units(norms.graph, norms.liveness);
  const MovingUnit& unit = unit_of(units, norms.x);
  EXPECT_EQ(unit.tensors, (std::vector<graph::TensorId>{norms.x, norms.statistics, norms.mask}));
  EXPECT_TRUE(unit.may_move);
  EXPECT_EQ(unit.moved_bytes, kMiB + memory::kBlockAlignment) << "128 and 1,000 bytes on one page";
  EXPECT_EQ(unit.kept_bytes, kMiB + 128 + 1024);
  EXPECT_EQ(unit.range, (Interval<graph::OpIndex>{1, 8}));
  EXPECT_EQ(unit.complete_after, 2) << "x may not leave before its statistics are made";
  ASSERT_EQ(unit.uses.size(), 4U);
  EXPECT_TRUE(unit.uses[1].op == 2 && unit.uses[1].reads && unit.uses[1].writes);
}

TEST(MovingUnits, OtherSmallTensorsJoinThoseOfTheSameLayers) {
  const Norms norms;
  const auto units = find_moving_units(norms.graph, norms.liveness);
  EXPECT_EQ(unit_of(units, norms.scale).tensors, (std::vector<graph::TensorId>{norms.scale, norms.shift}));
  EXPECT_TRUE(unit_of(units, norms.scale).persistent);
  EXPECT_EQ(unit_of(units, norms.weight).tensors.size(), 1U) << "it could leave before the norm uses scale and shift";
  EXPECT_EQ(unit_of(units, norms.factors).tensors.size(), 1U) << "of another layer";
}

TEST(MovingUnits, WhatNeverMovesIsAlone) {
  const Norms norms;
  const auto units = find_moving_units(norms.graph, norms.liveness);
  for (const graph::TensorId id : {norms.scratch, norms.loss}) {
    EXPECT_EQ(unit_of(units, id).tensors.size(), 1U);
    EXPECT_FALSE(unit_of(units, id).may_move);
  }
}

TEST(MovingUnits, HaveGapsOnlyWhereAllOfTheirTensorsExist) {
  const Norms norms;
  const auto units = find_moving_units(norms.graph, norms.liveness);
  const auto gaps = find_gaps(units, norms.graph.op_count(), 0);
  const auto x = as_index(&unit_of(units, norms.x) - units.data());
  std::vector<std::pair<graph::OpIndex, graph::OpIndex>> of_x;
  for (const Gap& gap : gaps) {
    if (gap.unit == x) of_x.emplace_back(gap.previous_use, gap.next_use);
  }
  EXPECT_EQ(of_x, (std::vector<std::pair<graph::OpIndex, graph::OpIndex>>{{2, 6}}));
}

}  // namespace
}  // namespace sluice::planners
