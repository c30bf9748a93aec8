#include "sluice/memory/offsets/offset_packer.hpp"

#include <gtest/gtest.h>

#include "sluice/testing/offset_problems.hpp"

namespace sluice::memory {
namespace {

// Few large items that come and go, as a plan's do, with small ones between them and two that are always there.
std::vector<OffsetItem> migrated_step(std::uint64_t seed) {
  std::vector<OffsetItem> items = testing::training_step(seed, 30, true);
  std::int32_t end = 0;
  for (const OffsetItem& item : items) end = std::max(end, item.live.back().end);
  for (const Bytes bytes : {kBlockAlignment, Bytes{640}}) {
    items.push_back({.bytes = bytes, .live = {{0, end}}, .alignment = bytes == 640 ? 64 : kBlockAlignment});
  }
  for (std::int32_t i = 0; i + 5 < end; i += 4) {
    items.push_back({.bytes = 64 * (1 + i % 9), .live = {{i, i + 5}}, .alignment = 64});
  }
  return items;
}

Bytes between(Bytes bound, Bytes height) { return align_up(bound + (height - bound) / 8, kBlockAlignment); }

TEST(OffsetPacker, PacksIntoBudgetsThatThePortfolioMisses) {
  int missed = 0, packed = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<OffsetItem> items = migrated_step(seed);
    const OffsetAssignment portfolio = assign_offsets(items);
    const Bytes budget = between(portfolio.lower_bound, portfolio.height);
    if (portfolio.height <= budget) continue;
    ++missed;
    const OffsetAssignment result = pack_offsets(items, budget);
    testing::expect_valid(items, result);
    EXPECT_LE(result.height, portfolio.height);
    EXPECT_EQ(result.lower_bound, portfolio.lower_bound);
    packed += result.height <= budget ? 1 : 0;
  }
  EXPECT_GE(missed, 20);
  EXPECT_GE(packed, missed * 9 / 10);
}

// Large items that can fill all of their height, and small ones beside them that need what is above it.
TEST(OffsetPacker, LeavesTheSmallItemsTheirRoom) {
  constexpr Bytes kLarge = 40'000, kSmall = 4'000;
  int packed = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    std::vector<OffsetItem> items = testing::dissected(seed, 20, kLarge, 14);
    for (OffsetItem& item : items) item.bytes -= item.bytes / 50;
    for (const OffsetItem& small : testing::dissected(seed + 100, 20, kSmall, 60)) items.push_back(small);
    const OffsetAssignment result = pack_offsets(items, kLarge + kSmall);
    testing::expect_valid(items, result);
    packed += result.height <= kLarge + kSmall ? 1 : 0;
  }
  EXPECT_GE(packed, 29);
}

TEST(OffsetPacker, WithoutEffortIsThePortfolio) {
  const std::vector<OffsetItem> items = migrated_step(1);
  const OffsetAssignment portfolio = assign_offsets(items);
  const Bytes budget = between(portfolio.lower_bound, portfolio.height);
  ASSERT_GT(portfolio.height, budget);
  EXPECT_EQ(pack_offsets(items, budget, kPortfolioAlone).offsets, portfolio.offsets);
}

TEST(OffsetPacker, IsThePortfolioWhereThatFitsOrNothingCan) {
  const std::vector<OffsetItem> items = migrated_step(2);
  const OffsetAssignment portfolio = assign_offsets(items);
  EXPECT_EQ(pack_offsets(items, portfolio.height).height, assign_offsets(items, portfolio.height).height);
  EXPECT_EQ(pack_offsets(items, portfolio.lower_bound - 1).offsets, portfolio.offsets);
}

TEST(OffsetPacker, LeavesFixedOffsetsWhereTheyAre) {
  std::vector<OffsetItem> items = migrated_step(3);
  items.front().fixed_offset = 8 * kBlockAlignment;
  const OffsetAssignment result = pack_offsets(items, max_live_bytes(items));
  testing::expect_valid(items, result);
}

TEST(OffsetPacker, IsTheSameEveryTime) {
  const std::vector<OffsetItem> items = migrated_step(4);
  const Bytes budget = align_up(max_live_bytes(items), kBlockAlignment);
  EXPECT_EQ(pack_offsets(items, budget).offsets, pack_offsets(items, budget).offsets);
}

TEST(OffsetPacker, NothingIsPackedIntoNothing) { EXPECT_EQ(pack_offsets({}, 0).height, 0); }

}  // namespace
}  // namespace sluice::memory
