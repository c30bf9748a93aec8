#include "sluice/planners/redl/stretches.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/planners/redl/problem_for_tests.hpp"

namespace sluice::planners {
namespace {

constexpr Seconds kOpSeconds = 1e-3;  // of every op of a RedlStep

using Ops = Interval<graph::OpIndex>;
using testing::RedlStep;
using testing::step_of_uses;

constexpr StretchRules kEveryStretch{.small_bytes = 0, .short_gaps = true};

std::vector<Ops> ops_of(const StretchedUnit& unit) {
  std::vector<Ops> result;
  for (const Stretch& stretch : unit.stretches) result.push_back(stretch.ops);
  return result;
}

TEST(Stretches, AreRunsOfUsesAndAPersistentUnitWrapsAround) {
  const RedlStep step(step_of_uses({"*..rr...u.", "wr....r..."}, kMiB), memory::TierKind::kEmulated);
  const auto units = find_stretches(step.problem, kEveryStretch);
  const StretchedUnit& parameter = units[step.unit_of(0)];
  EXPECT_THAT(ops_of(parameter), ::testing::ElementsAre(Ops{2, 4}, Ops{7, 8}));
  EXPECT_EQ(parameter.gap_count(), 2U);
  EXPECT_THAT(ranges_of_gap(parameter, 1, 9), ::testing::ElementsAre(Ops{8, 9}, Ops{0, 2}));
  const StretchedUnit& activation = units[step.unit_of(1)];
  EXPECT_THAT(ops_of(activation), ::testing::ElementsAre(Ops{0, 2}, Ops{6, 7}));
  EXPECT_EQ(activation.gap_count(), 1U);
  EXPECT_TRUE(activation.stretches[0].writes);
  EXPECT_FALSE(activation.stretches[1].writes);
}

// A copy out and one back take 2 x 1.05 ms, the gaps 1 and 3 ms.
TEST(Stretches, AGapTooShortForACopyOutAndBackIsNone) {
  const RedlStep step(step_of_uses({"w.r...r"}, kMiB), memory::TierKind::kEmulated);
  const auto units = find_stretches(step.problem, {.small_bytes = 0});
  EXPECT_THAT(ops_of(units[0]), ::testing::ElementsAre(Ops{0, 3}, Ops{6, 7}));
}

TEST(Stretches, EachUnitIsAsSlowAsItsOwnTier) {
  RedlStep step(step_of_uses({"w.....r", "w....r."}, kMiB), memory::TierKind::kEmulated, kOpSeconds, /*farther=*/true);
  step.units[1].slow = testing::kFartherOfTests;
  const auto units = find_stretches(step.problem, kEveryStretch);
  EXPECT_NEAR(units[0].stretches[1].slow_seconds, kMiB / 1e9 - kOpSeconds, 1e-9);
  EXPECT_NEAR(units[1].stretches[1].slow_seconds, 4 * kMiB / 1e9 - kOpSeconds, 1e-9);
}

TEST(Stretches, SmallUnitsArePinned) {
  const RedlStep step(step_of_uses({"w.....r"}, kMiB), memory::TierKind::kEmulated);
  const auto units = find_stretches(step.problem, {.small_bytes = 2 * kMiB});
  EXPECT_TRUE(units[0].pinned());
  EXPECT_THAT(ops_of(units[0]), ::testing::ElementsAre(Ops{0, 7}));
}

TEST(Stretches, AreUsedInPlaceOnlyWhereOpsCanAddressTheTier) {
  const graph::Graph graph = step_of_uses({"w.....r"}, kMiB);
  const RedlStep memory(graph, memory::TierKind::kEmulated);
  const RedlStep file(graph, memory::TierKind::kFile);
  const auto in_memory = find_stretches(memory.problem, kEveryStretch);
  EXPECT_TRUE(in_memory[0].in_place);
  EXPECT_NEAR(in_memory[0].stretches[1].slow_seconds, kMiB / 1e9 - kOpSeconds, 1e-9) << "the rest hides behind the op";
  const auto in_file = find_stretches(file.problem, kEveryStretch);
  EXPECT_FALSE(in_file[0].in_place);
  EXPECT_TRUE(in_file[0].may_leave);
}

TEST(Stretches, WhatTwoUnitsCostTogetherIsWhatTheOpLoses) {
  const RedlStep step(step_of_uses({"w...r", ".w..r"}, kMiB), memory::TierKind::kEmulated);
  const std::vector<std::size_t> both{step.unit_of(0), step.unit_of(1)};
  EXPECT_NEAR(seconds_lost(step.problem, 4, both), 2 * kMiB / 1e9 - kOpSeconds, 1e-9);
  EXPECT_EQ(seconds_lost(step.problem, 4, {}), 0);
}

}  // namespace
}  // namespace sluice::planners
