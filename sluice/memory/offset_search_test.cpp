// The search against all orders of small problems, and on dissected rectangles, where what fits is known.
#include "sluice/memory/offset_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "sluice/base/random.hpp"
#include "sluice/memory/offset_minimizer.hpp"

namespace sluice {
namespace {

using Items = std::vector<OffsetItem>;

OffsetItem item_of(Bytes bytes, std::int32_t begin, std::int32_t end, Bytes alignment = 1) {
  return {.bytes = bytes, .live = {{begin, end}}, .fixed_offset = {}, .alignment = alignment};
}

bool together(const OffsetItem& a, const OffsetItem& b) {
  return std::ranges::any_of(a.live, [&](const auto& mine) {
    return std::ranges::any_of(b.live, [&](const auto& theirs) { return mine.overlaps(theirs); });
  });
}

Bytes room_of(const OffsetItem& item) { return align_up(item.bytes, item.alignment); }

void expect_fits(const Items& items, const std::vector<Bytes>& offsets, Bytes capacity) {
  ASSERT_EQ(offsets.size(), items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].live.empty()) continue;
    ASSERT_GE(offsets[i], 0);
    ASSERT_EQ(offsets[i] % items[i].alignment, 0);
    ASSERT_LE(offsets[i] + room_of(items[i]), capacity);
    for (std::size_t j = 0; j < i; ++j) {
      const bool apart = offsets[i] + room_of(items[i]) <= offsets[j] || offsets[j] + room_of(items[j]) <= offsets[i];
      ASSERT_TRUE(apart || !together(items[i], items[j])) << i << " and " << j;
    }
  }
}

// The least height of all: each item in turn at the lowest place that is free, in every order there is.
Bytes least_height(const Items& items) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  Bytes least = std::numeric_limits<Bytes>::max();
  do {
    std::vector<Bytes> offsets(items.size(), -1);
    Bytes height = 0;
    for (const std::size_t i : order) {
      Bytes offset = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t j = 0; j < items.size(); ++j) {
          if (offsets[j] < 0 || !together(items[i], items[j])) continue;
          if (offset >= offsets[j] + room_of(items[j]) || offset + room_of(items[i]) <= offsets[j]) continue;
          offset = align_up(offsets[j] + room_of(items[j]), items[i].alignment);
          moved = true;
        }
      }
      offsets[i] = offset;
      height = std::max(height, offset + room_of(items[i]));
    }
    least = std::min(least, height);
  } while (std::ranges::next_permutation(order).found);
  return least;
}

Items random_items(std::uint64_t seed, std::size_t count) {
  const auto draw = [&](std::uint64_t stream, std::size_t i, std::uint64_t limit) {
    return static_cast<std::int32_t>(random_bits(seed, stream, i) % limit);
  };
  Items items;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t begin = draw(1, i, 6);
    items.push_back(item_of(1 + draw(2, i, 9), begin, begin + 1 + draw(3, i, 4), draw(6, i, 3) == 0 ? 4 : 1));
    if (draw(4, i, 3) == 0) items.back().live.push_back({begin + 6, begin + 7 + draw(5, i, 3)});
  }
  return items;
}

// A rectangle of `sections` by `capacity`, cut in two again and again: the pieces fit, and fill it.
Items dissected(std::uint64_t seed, std::int32_t sections, Bytes capacity, std::size_t pieces) {
  Items items{item_of(capacity, 0, sections)};
  for (std::uint64_t cut = 0; items.size() < pieces; ++cut) {
    OffsetItem& item = items[random_bits(seed, 1, cut) % items.size()];
    const auto where = random_bits(seed, 2, cut);
    Interval<std::int32_t>& live = item.live.front();
    OffsetItem other = item;
    if (random_bits(seed, 3, cut) % 2 == 0) {
      if (live.length() < 2) continue;
      const auto at = live.begin + 1 + static_cast<std::int32_t>(where % static_cast<std::uint64_t>(live.length() - 1));
      other.live.front().begin = at;
      live.end = at;
    } else {
      if (item.bytes < 2) continue;
      other.bytes = 1 + static_cast<Bytes>(where % static_cast<std::uint64_t>(item.bytes - 1));
      item.bytes -= other.bytes;
    }
    items.push_back(other);
  }
  return items;
}

TEST(OffsetSearch, NothingFitsAnywhere) {
  const SearchResult result = search_offsets({}, 0, {});
  EXPECT_EQ(result.verdict, SearchVerdict::kFound);
  const Items items{{.bytes = 5, .live = {}}, {.bytes = 0, .live = {{0, 1}}}};
  EXPECT_EQ(search_offsets(items, 0, {}).offsets, (std::vector<Bytes>{0, 0}));
}

TEST(OffsetSearch, AgreesWithAllOrdersOfSmallProblems) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    const Items items = random_items(seed, 3 + seed % 4);
    const Bytes least = least_height(items);
    const SearchResult found = search_offsets(items, least, {});
    ASSERT_EQ(found.verdict, SearchVerdict::kFound);
    expect_fits(items, found.offsets, least);
    ASSERT_EQ(search_offsets(items, least - 1, {}).verdict, SearchVerdict::kImpossible);
  }
}

TEST(OffsetSearch, PutsDissectedRectanglesTogether) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const Items items = dissected(seed, 40, 1000, 40);
    const SearchResult result = search_offsets(items, 1000, {});
    ASSERT_EQ(result.verdict, SearchVerdict::kFound);
    expect_fits(items, result.offsets, 1000);
  }
}

TEST(OffsetSearch, GivesUpWhenItMay) {
  const Items items = dissected(3, 200, 100'000, 400);
  const SearchResult result = search_offsets(items, 100'000, {.effort = 1000});
  EXPECT_EQ(result.verdict, SearchVerdict::kGaveUp);
  EXPECT_TRUE(result.offsets.empty());
  EXPECT_EQ(search_offsets(items, 100'000, {.stop = [] { return true; }}).verdict, SearchVerdict::kGaveUp);
}

TEST(OffsetSearch, IsTheSameEveryTime) {
  const Items items = dissected(7, 60, 5000, 60);
  const SearchResult once = search_offsets(items, 5000, {.effort = 50'000'000});
  const SearchResult again = search_offsets(items, 5000, {.effort = 50'000'000});
  EXPECT_EQ(once.verdict, again.verdict);
  EXPECT_EQ(once.offsets, again.offsets);
  EXPECT_EQ(once.placed, again.placed);
}

TEST(OffsetMinimizer, FindsTheLeastHeightAndProvesIt) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    const Items items = random_items(seed, 6);
    const OffsetAssignment result = minimize_offsets(items, {});
    EXPECT_EQ(result.height, least_height(items));
    EXPECT_EQ(result.lower_bound, result.height);
    expect_fits(items, result.offsets, result.height);
  }
}

TEST(OffsetMinimizer, KeepsWhatThePortfolioFoundWhenStopped) {
  const Items items = dissected(3, 200, 100'000, 400);
  const OffsetAssignment result = minimize_offsets(items, [] { return true; });
  EXPECT_EQ(result.height, assign_offsets(items).height);
  expect_fits(items, result.offsets, result.height);
}

}  // namespace
}  // namespace sluice
