#include "sluice/planners/redl/period_schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/planners/redl/problem_for_tests.hpp"

namespace sluice::planners {
namespace {

using Ops = Interval<graph::OpIndex>;
using testing::RedlStep;
using testing::step_of_uses;

constexpr StretchRules kFine{.small_bytes = 0, .short_gaps = true};

// Two tensors of 1 MiB with one life, and one between: 2 MiB do not hold all three at op 6.
const std::vector<std::string> kThree{"w...........r", ".w.........r.", ".....w.r....."};

// Every stretch fast, and only the gaps of `kept` units kept.
Placement placement_of(const std::vector<StretchedUnit>& units, const std::vector<std::size_t>& kept) {
  Placement placement;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const bool stays = std::ranges::find(kept, i) != kept.end();
    placement.units.push_back(
        {std::vector<bool>(units[i].stretches.size(), true), std::vector<bool>(units[i].gap_count(), stays)});
  }
  return placement;
}

class PeriodScheduleTest : public ::testing::Test {
 protected:
  // Schedules the three tensors; the first one leaves.
  std::optional<PeriodSchedule> schedule(int period, memory::TierKind slow, Seconds op_seconds,
                                         Bytes capacity = 2 * kMiB) {
    step_.emplace(step_of_uses(kThree, kMiB), slow, op_seconds);
    const auto units = find_stretches(step_->problem, kFine);
    return schedule_periods(step_->problem, units, placement_of(units, {step_->unit_of(1), step_->unit_of(2)}), period,
                            capacity);
  }

  const TensorSchedule& first(const PeriodSchedule& schedule) const { return schedule.units[step_->unit_of(0)]; }

  std::optional<RedlStep> step_;
};

TEST_F(PeriodScheduleTest, WhatAPeriodRequestsIsBroughtFromTheStartOfTheOneBefore) {
  for (const int period : {1, 2, 3}) {
    SCOPED_TRACE(period);
    const auto found = schedule(period, memory::TierKind::kFile, 2e-3);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->brought, 1);
    ASSERT_EQ(first(*found).pieces.size(), 2U);
    // Op 12 is in period 12 / length; there is room from op 8 on.
    EXPECT_EQ(first(*found).pieces[1].ops, (Ops{std::max(8, (12 / period - 1) * period), 13}));
    EXPECT_EQ(first(*found).pieces[1].first_use, 12);
  }
}

TEST_F(PeriodScheduleTest, RoomForACopyOutIsHeldUntilItShouldBeDone) {
  const auto found = schedule(1, memory::TierKind::kFile, 0.3e-3);
  ASSERT_TRUE(found);
  // 1.05 ms at 0.3 ms an op: the copy begins with op 1 and is done during op 4.
  EXPECT_EQ(first(*found).pieces[0].ops, (Ops{0, 5}));
  EXPECT_EQ(first(*found).pieces[0].evict_after, 0);
}

// A copy takes 1.05 ms, and so do 21 ops. In place the tensor costs its op as much; waiting is sooner from halfway.
TEST_F(PeriodScheduleTest, WhatComesTooLateIsUsedInPlaceWhereItCanBe) {
  step_.emplace(step_of_uses({"w...........r", ".w...r.......", ".....w...r..."}, kMiB), memory::TierKind::kEmulated,
                5e-5);
  step_->machine.tiers[1].read_bandwidth = 1e10;  // ten times as fast as copying
  const auto units = find_stretches(step_->problem, kFine);
  const auto found =
      schedule_periods(step_->problem, units, placement_of(units, {step_->unit_of(1), step_->unit_of(2)}), 1, 2 * kMiB);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->late_in_place, 1);
  EXPECT_EQ(found->brought, 0);
  EXPECT_EQ(first(*found).pieces.size(), 1U);
}

TEST_F(PeriodScheduleTest, WhereOpsCannotAddressTheTierItIsWaitedFor) {
  const auto found = schedule(1, memory::TierKind::kFile, 1e-6);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->late_in_place, 0);
  EXPECT_EQ(found->brought, 1);
}

TEST_F(PeriodScheduleTest, NothingMovesWhereEverythingFits) {
  const auto found = schedule(1, memory::TierKind::kFile, 1e-3, 3 * kMiB);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->brought, 0);
  for (const TensorSchedule& unit : found->units) EXPECT_EQ(unit.pieces.size(), 1U);
}

TEST_F(PeriodScheduleTest, WhatLeftAndWhoseRoomNobodyTookHasNotLeft) {
  step_.emplace(step_of_uses({"w...........r", ".w.........r.", "...........wr"}, kMiB), memory::TierKind::kFile, 1e-3);
  const auto units = find_stretches(step_->problem, kFine);
  const auto found = schedule_periods(step_->problem, units, placement_of(units, {}), 1, 2 * kMiB);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->brought, 1) << "of the two that may leave, one can stay";
}

// Idle Migration: of short-lived tensors that do not fit together, those of least liveness are the victims.
TEST_F(PeriodScheduleTest, ShortLivedTensorsOfLeastLivenessAreTheVictims) {
  step_.emplace(step_of_uses({"w..r", ".wr."}, kMiB, /*one_layer=*/true), memory::TierKind::kEmulated);
  const auto units = find_stretches(step_->problem, kFine);
  const auto found = schedule_periods(step_->problem, units, placement_of(units, {}), 1, kMiB);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->units[step_->unit_of(0)].pieces.size(), 1U);
  EXPECT_TRUE(found->units[step_->unit_of(1)].pieces.empty());
  EXPECT_EQ(found->placed_in_place, 1);
}

TEST_F(PeriodScheduleTest, WhatMustBeFastMustFit) {
  EXPECT_FALSE(schedule(1, memory::TierKind::kFile, 1e-3, kMiB - 4096));
  EXPECT_TRUE(schedule(1, memory::TierKind::kEmulated, 1e-3, kMiB - 4096)) << "all in place";
}

}  // namespace
}  // namespace sluice::planners
