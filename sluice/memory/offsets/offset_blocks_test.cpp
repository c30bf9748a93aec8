#include "sluice/memory/offsets/offset_blocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "sluice/base/as_index.hpp"
#include "sluice/base/random.hpp"

namespace sluice::memory {
namespace {

OffsetItem live_item(Bytes bytes, std::vector<Interval<std::int32_t>> live, Bytes alignment = 1) {
  return {.bytes = bytes, .live = std::move(live), .fixed_offset = {}, .alignment = alignment};
}

// The picture in the header.
TEST(OffsetBlocks, SectionsAreTheMomentsThatNoOtherOneCovers) {
  const std::vector<OffsetItem> items{live_item(8, {{0, 16}}), live_item(4, {{4, 10}}), live_item(2, {{11, 19}}),
                                      live_item(1, {{19, 26}})};
  const std::vector<OffsetBlock> blocks = blocks_of(items);
  ASSERT_EQ(blocks.size(), 4U);
  using Sections = std::vector<Interval<Section>>;
  EXPECT_EQ(blocks[0].sections, (Sections{{0, 2}}));
  EXPECT_EQ(blocks[1].sections, (Sections{{0, 1}}));
  EXPECT_EQ(blocks[2].sections, (Sections{{1, 2}}));
  EXPECT_EQ(blocks[3].sections, (Sections{{2, 3}}));
  EXPECT_EQ(blocks[0].length, 2);
  EXPECT_EQ(blocks[0].busiest, 12);
  EXPECT_EQ(blocks[2].busiest, 10);
}

TEST(OffsetBlocks, WhatTakesNoRoomIsLeftOutAndSizesAreRounded) {
  const std::vector<OffsetBlock> blocks =
      blocks_of(std::vector{live_item(0, {{0, 1}}), live_item(5, {}), live_item(5, {{0, 1}}, 4)});
  ASSERT_EQ(blocks.size(), 1U);
  EXPECT_EQ(blocks[0].item, 2U);
  EXPECT_EQ(blocks[0].bytes, 8);
}

TEST(OffsetBlocks, FixedOffsetsAreTheCallersMistake) {
  EXPECT_THROW(blocks_of(std::vector<OffsetItem>{{.bytes = 1, .live = {{0, 1}}, .fixed_offset = 0}}), std::logic_error);
}

// Against every moment: the same pairs meet, and the busiest section is the busiest moment.
TEST(OffsetBlocks, SayTheSameOfRandomItemsAsEveryMoment) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(seed);
    std::vector<OffsetItem> items;
    for (std::uint64_t i = 0; i < 12; ++i) {
      const auto draw = [&](std::uint64_t stream, std::uint64_t limit) {
        return static_cast<std::int32_t>(random_bits(seed, stream, i) % limit);
      };
      const std::int32_t begin = draw(1, 20), end = begin + 1 + draw(2, 6);
      items.push_back(live_item(1 + draw(3, 9), {{begin, end}}));
      if (draw(4, 2) == 0) items.back().live.push_back({end + draw(5, 3), end + 4 + draw(6, 4)});
    }
    const std::vector<OffsetBlock> blocks = blocks_of(items);
    ASSERT_EQ(blocks.size(), items.size());
    std::vector<std::set<std::size_t>> at(64);
    for (std::size_t i = 0; i < items.size(); ++i) {
      for (const auto& live : items[i].live) {
        for (std::int32_t t = live.begin; t < live.end; ++t) at[as_index(t)].insert(i);
      }
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const bool meet = std::ranges::any_of(at, [&](const auto& now) { return now.contains(i) && now.contains(j); });
        ASSERT_EQ(live_together(blocks[i], blocks[j]), meet) << i << " and " << j;
      }
      Bytes busiest = 0;
      for (const std::set<std::size_t>& now : at) {
        Bytes bytes = 0;
        for (const std::size_t j : now) bytes += items[j].bytes;
        if (now.contains(i)) busiest = std::max(busiest, bytes);
      }
      ASSERT_EQ(blocks[i].busiest, busiest) << i;
    }
  }
}

}  // namespace
}  // namespace sluice::memory
