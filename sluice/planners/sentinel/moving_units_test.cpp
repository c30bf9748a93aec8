#include "sluice/planners/schedule/moving_units.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/base/check.hpp"
#include "sluice/planners/schedule/gaps.hpp"
#include "sluice/testing/tiny_step.hpp"

namespace sluice {
namespace {

using testing::add_tiny_op;
using testing::add_tiny_tensor;

// Two layers forward and the same two backward, one batch norm in each: x is normalised into y with the statistics of
// x, which the backward pass reads again; w, scale and momentum are persistent.
struct Norms {
  Graph graph;
  TensorId x = add_tiny_tensor(graph, "x", Role::kActivation, kMiB);
  TensorId statistics = add_tiny_tensor(graph, "statistics", Role::kActivation, 128);
  TensorId y = add_tiny_tensor(graph, "y", Role::kActivation, kMiB);
  TensorId mask = add_tiny_tensor(graph, "mask", Role::kActivation, 1000);
  TensorId factors = add_tiny_tensor(graph, "factors", Role::kActivation, 500);
  TensorId scratch = add_tiny_tensor(graph, "scratch", Role::kWorkspace, 64);
  TensorId weight = add_tiny_tensor(graph, "weight", Role::kParameter, kMiB);
  TensorId scale = add_tiny_tensor(graph, "scale", Role::kParameter, 128);
  TensorId shift = add_tiny_tensor(graph, "shift", Role::kParameter, 128);
  TensorId loss = add_tiny_tensor(graph, "loss", Role::kOutput, 4);
  Liveness liveness;

  Norms() {
    graph.layers = {"0", "1"};
    add_tiny_op(graph, "0 start", {}, {});
    add_tiny_op(graph, "1 convolution", {weight}, {x});
    add_tiny_op(graph, "2 norm", {x, scale, shift}, {y, statistics, mask, scratch});
    add_tiny_op(graph, "3 next layer", {y}, {factors});
    add_tiny_op(graph, "4 its gradient", {y}, {loss});
    add_tiny_op(graph, "5 mask", {factors}, {});
    add_tiny_op(graph, "6 norm's gradient", {x, statistics, scale, mask}, {scale, shift});
    add_tiny_op(graph, "7 convolution's gradient", {x, weight, mask}, {weight});
    for (const OpIndex op : {3, 4, 5}) graph.op(op).layer = 1;
    for (const OpIndex op : {4, 5, 6, 7}) graph.op(op).phase = Phase::kBackward;
    liveness = analyze_liveness(graph);
  }
};

const MovingUnit& unit_of(const std::vector<MovingUnit>& units, TensorId id) {
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
  EXPECT_EQ(unit.tensors, (std::vector<TensorId>{norms.x, norms.statistics, norms.mask}));
  EXPECT_TRUE(unit.may_move);
  EXPECT_EQ(unit.moved_bytes, kMiB + kBlockAlignment) << "128 and 1,000 bytes on one page";
  EXPECT_EQ(unit.kept_bytes, kMiB + 128 + 1024);
  EXPECT_EQ(unit.range, (Interval<OpIndex>{1, 8}));
  EXPECT_EQ(unit.complete_after, 2) << "x may not leave before its statistics are made";
  ASSERT_EQ(unit.uses.size(), 4U);
  EXPECT_TRUE(unit.uses[1].op == 2 && unit.uses[1].reads && unit.uses[1].writes);
}

TEST(MovingUnits, OtherSmallTensorsJoinThoseOfTheSameLayers) {
  const Norms norms;
  const auto units = find_moving_units(norms.graph, norms.liveness);
  EXPECT_EQ(unit_of(units, norms.scale).tensors, (std::vector<TensorId>{norms.scale, norms.shift}));
  EXPECT_TRUE(unit_of(units, norms.scale).persistent);
  EXPECT_EQ(unit_of(units, norms.weight).tensors.size(), 1U) << "it could leave before the norm uses scale and shift";
  EXPECT_EQ(unit_of(units, norms.factors).tensors.size(), 1U) << "of another layer";
}

TEST(MovingUnits, WhatNeverMovesIsAlone) {
  const Norms norms;
  const auto units = find_moving_units(norms.graph, norms.liveness);
  for (const TensorId id : {norms.scratch, norms.loss}) {
    EXPECT_EQ(unit_of(units, id).tensors.size(), 1U);
    EXPECT_FALSE(unit_of(units, id).may_move);
  }
}

TEST(MovingUnits, HaveGapsOnlyWhereAllOfTheirTensorsExist) {
  const Norms norms;
  const auto units = find_moving_units(norms.graph, norms.liveness);
  const auto gaps = find_gaps(units, norms.graph.op_count(), 0);
  const auto x = static_cast<std::size_t>(&unit_of(units, norms.x) - units.data());
  std::vector<std::pair<OpIndex, OpIndex>> of_x;
  for (const Gap& gap : gaps) {
    if (gap.unit == x) of_x.emplace_back(gap.previous_use, gap.next_use);
  }
  EXPECT_EQ(of_x, (std::vector<std::pair<OpIndex, OpIndex>>{{2, 6}}));
}

}  // namespace
}  // namespace sluice
