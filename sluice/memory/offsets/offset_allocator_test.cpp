#include "sluice/memory/offsets/offset_allocator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "sluice/base/random.hpp"
#include "sluice/testing/offset_problems.hpp"

namespace sluice::memory {
namespace {

constexpr Bytes kPage = kBlockAlignment;

TEST(OffsetAllocator, NothingNeedsNoRoom) {
  EXPECT_EQ(assign_offsets({}).height, 0);
  const std::vector<OffsetItem> items{{kPage, {}, {}}};
  EXPECT_EQ(assign_offsets(items).height, 0);
}

TEST(OffsetAllocator, SharesBytesOverTimeAndStacksWhatIsLiveTogether) {
  const std::vector<OffsetItem> items{{kPage, {{0, 2}}, {}}, {kPage, {{2, 4}}, {}}, {2 * kPage, {{1, 3}}, {}}};
  const auto result = assign_offsets(items);
  testing::expect_valid(items, result);
  EXPECT_EQ(result.height, 3 * kPage);
  EXPECT_EQ(result.lower_bound, 3 * kPage);
  EXPECT_EQ(result.offsets[0], result.offsets[1]);
}

TEST(OffsetAllocator, RoundsSizesUpToThePage) {
  const std::vector<OffsetItem> items{{1, {{0, 1}}, {}}, {kPage + 1, {{0, 1}}, {}}};
  EXPECT_EQ(assign_offsets(items).height, 3 * kPage);
  EXPECT_EQ(max_live_bytes(items), 3 * kPage);
}

TEST(OffsetAllocator, PutsItemsOfSmallerAlignmentOnOnePage) {
  std::vector<OffsetItem> items{{100, {{0, 2}}, {}}, {kPage, {{0, 1}}, {}}, {100, {{0, 3}}, {}}, {64, {{0, 1}}, {}}};
  for (const std::size_t small : {0, 2, 3}) items[small].alignment = 64;
  const auto result = assign_offsets(items);
  testing::expect_valid(items, result);
  EXPECT_EQ(result.lower_bound, kPage + 128 + 128 + 64);
  EXPECT_LE(result.height, 2 * kPage);
}

TEST(OffsetAllocator, ItemIsAwayBetweenItsIntervals) {
  // A parameter is resident at both ends of the step; a large activation fits into its place in between.
  const std::vector<OffsetItem> items{{2 * kPage, {{8, 10}, {0, 2}}, {}}, {2 * kPage, {{2, 8}}, {}}};
  const auto result = assign_offsets(items);
  testing::expect_valid(items, result);
  EXPECT_EQ(result.height, 2 * kPage);
}

TEST(OffsetAllocator, ClashOfOneIntervalIsAClash) {
  const std::vector<OffsetItem> items{{kPage, {{0, 2}, {8, 10}}, {}}, {kPage, {{9, 11}}, {}}};
  EXPECT_EQ(assign_offsets(items).height, 2 * kPage);
}

TEST(OffsetAllocator, PrefersTheTightestHole) {
  // Fixed items leave a hole of 3 pages at 1 and one of 2 pages at 5; the new item of 2 pages belongs at 5.
  const std::vector<OffsetItem> items{
      {kPage, {{0, 1}}, 0}, {kPage, {{0, 1}}, 4 * kPage}, {kPage, {{0, 1}}, 7 * kPage}, {2 * kPage, {{0, 1}}, {}}};
  EXPECT_EQ(assign_offsets(items).offsets[3], 5 * kPage);
}

TEST(OffsetAllocator, FixedItemsStayAndBoundTheHeight) {
  const std::vector<OffsetItem> items{
      {kPage, {{0, 4}}, 6 * kPage}, {4 * kPage, {{0, 4}}, {}}, {3 * kPage, {{0, 4}}, {}}};
  const auto result = assign_offsets(items);
  testing::expect_valid(items, result);
  EXPECT_EQ(result.lower_bound, 8 * kPage);
  EXPECT_EQ(assign_offsets(std::span(items).first(2)).lower_bound, 7 * kPage);
}

TEST(OffsetAllocator, ImpossibleFixedOffsetsAreTheCallersMistake) {
  const std::vector<OffsetItem> overlapping{{2 * kPage, {{0, 2}}, 0}, {kPage, {{1, 3}}, kPage}};
  EXPECT_THROW(assign_offsets(overlapping), std::logic_error);
  const std::vector<OffsetItem> unaligned{{kPage, {{0, 2}}, 100}};
  EXPECT_THROW(assign_offsets(unaligned), std::logic_error);
}

TEST(OffsetAllocator, StopsOnceTheTargetIsMet) {
  const auto items = testing::training_step(3, 60, true);
  const auto best = assign_offsets(items);
  const auto first = assign_offsets(items, 100 * best.height);
  testing::expect_valid(items, first);
  EXPECT_GE(first.height, best.height);
  EXPECT_LE(assign_offsets(items, best.height).height, best.height);
}

TEST(OffsetAllocator, RandomItemsNeverOverlap) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::vector<OffsetItem> items;
    Bytes fixed_at = 0;
    for (std::uint64_t i = 0; i < 40; ++i) {
      OffsetItem item{static_cast<Bytes>(random_bits(seed, 1, i) % 50000), {}, {}};
      if (random_bits(seed, 13, i) % 3 == 0) item.alignment = 64;
      auto time = static_cast<std::int32_t>(random_bits(seed, 2, i) % 30);
      for (std::uint64_t k = 0; k < random_bits(seed, 3, i) % 4; ++k) {
        const auto length = static_cast<std::int32_t>(1 + random_bits(seed, 4 + k, i) % 9);
        item.live.push_back({time, time + length});
        time += length + static_cast<std::int32_t>(random_bits(seed, 8 + k, i) % 5);
      }
      if (random_bits(seed, 12, i) % 8 == 0) {
        item.fixed_offset = fixed_at;
        fixed_at += align_up(item.bytes, kPage) + kPage * static_cast<Bytes>(random_bits(seed, 13, i) % 4);
      }
      items.push_back(item);
    }
    testing::expect_valid(items, assign_offsets(items));
  }
}

TEST(OffsetAllocator, TrainingStepsComeWithinTenPerCentOfTheBound) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (const bool offloaded : {false, true}) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed << " offloaded " << offloaded);
      const auto items = testing::training_step(seed, 80, offloaded);
      const auto result = assign_offsets(items);
      testing::expect_valid(items, result);
      EXPECT_LT(static_cast<double>(result.height), 1.1 * static_cast<double>(result.lower_bound));
    }
  }
}

TEST(OffsetAllocator, SameInputSameOutput) {
  const auto items = testing::training_step(5, 60, true);
  EXPECT_EQ(assign_offsets(items).offsets, assign_offsets(items).offsets);
}

TEST(OffsetAllocator, LargeGraphTakesMilliseconds) {
  const auto items = testing::training_step(7, 1000, false);
  const std::clock_t begin = std::clock();  // processor time: machines are shared
  const auto result = assign_offsets(items);
  const double taken = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_LT(static_cast<double>(result.height), 1.1 * static_cast<double>(result.lower_bound));
  EXPECT_LT(taken, 2.0);  // tens of ms; the slack is for sanitizers and busy machines
}

TEST(OffsetAllocator, WithinABudgetIsWhatAnOrderComesTo) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    std::vector<OffsetItem> items;
    for (std::uint64_t i = 0; i < 60; ++i) {
      const auto begin = static_cast<std::int32_t>(random_bits(seed, 1, i) % 90);
      const auto length = static_cast<std::int32_t>(1 + random_bits(seed, 2, i) % 10);
      items.push_back({kPage * static_cast<Bytes>(1 + random_bits(seed, 3, i) % 40), {{begin, begin + length}}, {}});
    }
    const OffsetAssignment lowest = assign_offsets(items);
    const auto within = assign_offsets_within(items, lowest.height);
    ASSERT_TRUE(within.has_value());
    testing::expect_valid(items, *within);
    EXPECT_EQ(within->height, lowest.height);
    EXPECT_FALSE(assign_offsets_within(items, lowest.height - 1).has_value());
  }
}

}  // namespace
}  // namespace sluice::memory
