// Sound, within the memory, and full where the bytes would be enough.
#include "sluice/memory/offsets/stitched_packing.hpp"

#include <gtest/gtest.h>

#include "sluice/testing/offset_problems.hpp"
#include "sluice/testing/random/seeded_random.hpp"

namespace sluice::memory {
namespace {

constexpr Bytes kStitchedPage = kBlockAlignment;

std::vector<Interval<Bytes>> memory_of(const StitchedPacking& packing, const std::vector<OffsetItem>& items,
                                       std::size_t i) {
  const Bytes begin = packing.addresses[i];
  return memory_behind(packing.stitches, {begin, begin + align_up(items[i].bytes, items[i].alignment)});
}

bool live_at_once(const OffsetItem& a, const OffsetItem& b) {
  return std::ranges::any_of(a.live, [&](const auto& mine) {
    return std::ranges::any_of(b.live, [&](const auto& other) { return mine.overlaps(other); });
  });
}

void expect_sound(const std::vector<OffsetItem>& items, const StitchedPacking& packing, Bytes memory) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].live.empty()) continue;
    EXPECT_EQ(packing.addresses[i] % items[i].alignment, 0) << i;
    for (const Interval<Bytes>& piece : memory_of(packing, items, i)) {
      EXPECT_GE(piece.begin, 0) << i;
      EXPECT_LE(piece.end, memory) << i;
      for (std::size_t j = 0; j < i; ++j) {
        if (!live_at_once(items[i], items[j])) continue;
        for (const Interval<Bytes>& other : memory_of(packing, items, j)) {
          EXPECT_FALSE(piece.overlaps(other)) << i << " and " << j;
        }
      }
    }
  }
  Bytes end = memory;
  for (const Stitch& stitch : packing.stitches) {
    EXPECT_GE(stitch.address, end);
    EXPECT_GT(stitch.memory.size(), 1U) << "in one piece it needs no stitch";
    end = stitch_end(stitch);
  }
}

// What comes and goes once, large and small.
std::vector<OffsetItem> passing(std::uint64_t seed) {
  testing::SeededRandom random(seed);
  std::vector<OffsetItem> items;
  for (std::int32_t i = 0; i < 120; ++i) {
    const auto begin = random.between<std::int32_t>(0, 99);
    const auto end = std::min<std::int32_t>(100, begin + random.between<std::int32_t>(1, 40));
    items.push_back({.bytes = kStitchedPage * random.between<Bytes>(1, 40), .live = {{begin, end}}});
  }
  return items;
}

TEST(StitchedPacking, LosesNothingWhereAllComeAndGoOnce) {
  std::size_t stitched = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<OffsetItem> items = passing(seed);
    const Bytes memory = max_live_bytes(items);
    const StitchedPacking packing = pack_stitched(items, memory, memory + kStitchedPage);
    ASSERT_EQ(packing.missing, 0);
    expect_sound(items, packing, memory);
    stitched += packing.stitches.size();
  }
  EXPECT_GT(stitched, 50U);
}

// Every second page of eight becomes free, and four, four and three pages in a row want to lie there.
TEST(StitchedPacking, UsesAStitchAgain) {
  std::vector<OffsetItem> items;
  for (std::int32_t i = 0; i < 8; ++i) items.push_back({.bytes = kStitchedPage, .live = {{0, i % 2 == 0 ? 10 : 90}}});
  items.push_back({.bytes = 4 * kStitchedPage, .live = {{10, 20}}});
  items.push_back({.bytes = 4 * kStitchedPage, .live = {{20, 30}}});
  items.push_back({.bytes = 3 * kStitchedPage, .live = {{30, 100}}});
  const StitchedPacking packing = pack_stitched(items, 8 * kStitchedPage, 8 * kStitchedPage);
  ASSERT_EQ(packing.missing, 0);
  expect_sound(items, packing, 8 * kStitchedPage);
  ASSERT_EQ(packing.stitches.size(), 1U);
  for (std::size_t i = 8; i < items.size(); ++i) EXPECT_EQ(packing.addresses[i], packing.stitches.front().address);
}

TEST(StitchedPacking, SaysWhatIsMissing) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<OffsetItem> items = passing(seed);
    EXPECT_GT(pack_stitched(items, max_live_bytes(items) - kStitchedPage, kGiB).missing, 0);
  }
}

// Half of what is there at the begin leaves, and is back where it was at the end.
TEST(StitchedPacking, WhatReturnsFindsItsPlace) {
  int full = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    testing::SeededRandom random(seed);
    std::vector<OffsetItem> items = passing(seed);
    for (int i = 0; i < 20; ++i) {
      const auto away = random.between<std::int32_t>(1, 50);
      const auto back = random.between<std::int32_t>(away + 1, 99);
      items.push_back({.bytes = kStitchedPage * random.between<Bytes>(1, 20), .live = {{0, away}, {back, 100}}});
    }
    items.push_back({.bytes = 640, .live = {{0, 100}}, .alignment = 64});
    items.push_back({.bytes = 64, .live = {{3, 20}}, .alignment = 64});
    items.push_back({.bytes = 64, .live = {}, .alignment = 64});
    const Bytes memory = align_up(max_live_bytes(items), kStitchedPage) * 26 / 25 / kStitchedPage * kStitchedPage;
    const StitchedPacking packing = pack_stitched(items, memory, memory);
    if (packing.missing > 0) continue;
    ++full;
    expect_sound(items, packing, memory);
  }
  EXPECT_GE(full, 45);
}

// Whole huge pages are taken first, be it that others cease sooner; where that does not come out, the sparing attempt does.
TEST(StitchedPacking, TakesWhatCeasesFirstBeforeItGivesUp) {
  int full = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    testing::SeededRandom random(seed);
    std::vector<OffsetItem> items = passing(seed);
    for (OffsetItem& item : items) item.bytes *= 25;
    for (int i = 0; i < 40; ++i) {
      const auto away = random.between<std::int32_t>(1, 50);
      const auto back = random.between<std::int32_t>(away + 1, 99);
      items.push_back({.bytes = 25 * kStitchedPage * random.between<Bytes>(1, 40), .live = {{0, away}, {back, 100}}});
    }
    const Bytes memory = align_up(max_live_bytes(items) / 50 * 51, kStitchedPage);
    const StitchedPacking packing = pack_stitched(items, memory, memory);
    if (packing.missing > 0) continue;
    ++full;
    expect_sound(items, packing, memory);
  }
  EXPECT_GE(full, 42);
}

TEST(StitchedPacking, TakesOnePieceWhereThereIsOne) {
  const std::vector<OffsetItem> items{{.bytes = 4 * kStitchedPage, .live = {{0, 4}}},
                                      {.bytes = 2 * kStitchedPage, .live = {{0, 9}}},
                                      {.bytes = 4 * kStitchedPage, .live = {{4, 9}}}};
  const StitchedPacking packing = pack_stitched(items, 8 * kStitchedPage, 8 * kStitchedPage);
  EXPECT_EQ(packing.missing, 0);
  EXPECT_TRUE(packing.stitches.empty());
}

// The free page between the two, and the page behind them.
TEST(StitchedPacking, StitchesWhatIsFreeAround) {
  const std::vector<OffsetItem> items{{.bytes = 2 * kStitchedPage, .live = {{0, 4}}},
                                      {.bytes = kStitchedPage, .live = {{1, 9}}},
                                      {.bytes = 3 * kStitchedPage, .live = {{4, 9}}}};
  const StitchedPacking packing = pack_stitched(items, 4 * kStitchedPage, 16 * kStitchedPage);
  EXPECT_EQ(packing.missing, 0);
  ASSERT_EQ(packing.stitches.size(), 1U);
  EXPECT_EQ(packing.addresses[2], 16 * kStitchedPage);
  EXPECT_EQ(packing.stitches[0].memory,
            (std::vector<Interval<Bytes>>{{0, 2 * kStitchedPage}, {3 * kStitchedPage, 4 * kStitchedPage}}));
}

}  // namespace
}  // namespace sluice::memory
