#include "sluice/planners/schedule/intervals.hpp"

#include <gtest/gtest.h>

#include "sluice/planners/schedule/gaps.hpp"
#include "sluice/testing/tiny_step.hpp"

namespace sluice::planners {
namespace {

// Four layers of one op each, forward; every op takes one second. `a` is made by op 0 and read by ops 1 and 3.
//
//   op        0     1     2     3
//   a (8 KiB) w     r           r        long-lived
//   b (4 KiB)       w     r              long-lived
//   s (4 KiB)             w              short-lived
struct FourLayers {
  graph::Graph graph;
  memory::Machine machine = testing::tiny_machine();
  profile::Profile profile;

  FourLayers() {
    graph.layers = {"0", "1", "2", "3"};
    testing::add_tiny_tensor(graph, "a", graph::Role::kActivation, 8192);
    testing::add_tiny_tensor(graph, "b", graph::Role::kActivation, 4096);
    testing::add_tiny_tensor(graph, "s", graph::Role::kActivation, 4096);
    testing::add_tiny_op(graph, "0", {}, {0});
    testing::add_tiny_op(graph, "1", {0}, {1});
    testing::add_tiny_op(graph, "2", {1}, {2});
    testing::add_tiny_op(graph, "3", {0}, {});
    for (graph::OpIndex op = 0; op < 4; ++op) graph.op(op).layer = op;
    profile.op_seconds.assign(4, 1.0);
  }
};

TEST(Intervals, AreRunsOfWholeLayersAndTheLastMayBeShorter) {
  const FourLayers step;
  const IntervalCut cut = cut_into_intervals(graph::analyze_liveness(step.graph), 3);
  ASSERT_EQ(cut.intervals.size(), 2U);
  EXPECT_EQ(cut.intervals[0], (Interval<graph::OpIndex>{0, 3}));
  EXPECT_EQ(cut.intervals[1], (Interval<graph::OpIndex>{3, 4}));
  EXPECT_EQ(cut.interval_of_op, (std::vector<int>{0, 0, 0, 1}));
}

TEST(Intervals, Equation1ComparesWhatMustComeWithTheRoomBesideShortLivedTensors) {
  const FourLayers step;
  const graph::Liveness liveness = graph::analyze_liveness(step.graph);
  const profile::CostModel costs(step.graph, step.profile, step.machine);
  const IntervalCut cut = cut_into_intervals(liveness, 1);
  // Interval 3 uses a, interval 2 did not: 8 KiB must come. s takes 4 KiB of every budget.
  const IntervalEstimate tight = estimate_intervals(step.graph, liveness, costs, cut, 12288, 1e9);
  EXPECT_EQ(tight.tensor_bytes, 8192);
  EXPECT_EQ(tight.room_bytes, 8192);
  EXPECT_FALSE(tight.space_ok);
  EXPECT_TRUE(estimate_intervals(step.graph, liveness, costs, cut, 12289, 1e9).space_ok);
}

TEST(Intervals, Equation2IsTransferTimeLessTheShortestInterval) {
  const FourLayers step;
  const graph::Liveness liveness = graph::analyze_liveness(step.graph);
  const profile::CostModel costs(step.graph, step.profile, step.machine);
  const IntervalEstimate estimate =
      estimate_intervals(step.graph, liveness, costs, cut_into_intervals(liveness, 1), 20480, 4096);
  EXPECT_DOUBLE_EQ(estimate.goal_seconds, 16384 / 4096.0 - 1.0);
  EXPECT_DOUBLE_EQ(estimate.exposed_seconds, (8192 / 4096.0 - 1.0) + 1.0);  // interval 0 makes a: counted as used
}

TEST(Gaps, AreStretchesBetweenUsesOfLongLivedTensors) {
  const FourLayers step;
  const auto gaps = find_gaps(find_moving_units(step.graph, graph::analyze_liveness(step.graph)), 4, 0);
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_EQ(gaps[0].previous_use, 1);
  EXPECT_EQ(gaps[0].next_use, 3);
  EXPECT_TRUE(find_gaps(find_moving_units(step.graph, graph::analyze_liveness(step.graph)), 4, 9000).empty());
}

// A parameter read at 0 and 2 and updated at 4 of six ops: with the wrapping gap cut, only the update's copy is
// written.
TEST(Gaps, ACleanParameterIsWrittenOnlyAfterItsUpdate) {
  const std::vector<graph::Use> uses{{0, true, false}, {2, true, false}, {4, true, true}};
  std::vector<Gap> gaps{{.previous_use = 0, .next_use = 2, .cut = true},
                        {.previous_use = 2, .next_use = 4, .cut = true},
                        {.previous_use = 4, .next_use = 0, .kind = GapKind::kOverStepEnd, .cut = true}};
  const std::vector<MovingUnit> units{{.uses = uses}};
  mark_writes(units, gaps);
  EXPECT_FALSE(gaps[0].writes);
  EXPECT_FALSE(gaps[1].writes);
  EXPECT_TRUE(gaps[2].writes);
  gaps[2].cut = false;  // fast between steps: the first cut has to write
  mark_writes(units, gaps);
  EXPECT_TRUE(gaps[0].writes);
  EXPECT_FALSE(gaps[1].writes);
}

TEST(Gaps, AWrappingGapCoversTheEndAndTheStartOfTheStep) {
  const auto ranges = gap_ranges({.previous_use = 4, .next_use = 1, .kind = GapKind::kOverStepEnd}, 6);
  ASSERT_EQ(ranges.size(), 2U);
  EXPECT_EQ(ranges[0], (Interval<graph::OpIndex>{5, 6}));
  EXPECT_EQ(ranges[1], (Interval<graph::OpIndex>{0, 1}));
}

}  // namespace
}  // namespace sluice::planners
