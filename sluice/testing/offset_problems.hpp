// What the tests of offset assignment share: problems to solve, and the check of what any solution promises.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "sluice/base/random.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/memory/offsets/offset_allocator.hpp"

namespace sluice::testing {

// Pair by pair. Also that offsets which were fixed are kept.
inline void expect_apart(const std::vector<memory::OffsetItem>& items, const std::vector<Bytes>& offsets) {
  ASSERT_EQ(offsets.size(), items.size());
  const auto range_of = [&](std::size_t i) -> Interval<Bytes> {
    return {offsets[i], offsets[i] + align_up(items[i].bytes, items[i].alignment)};
  };
  for (std::size_t i = 0; i < items.size(); ++i) {
    ASSERT_EQ(offsets[i] % items[i].alignment, 0);
    ASSERT_GE(offsets[i], 0);
    ASSERT_EQ(offsets[i], items[i].fixed_offset.value_or(offsets[i]));
    for (std::size_t j = 0; j < i; ++j) {
      if (!range_of(i).overlaps(range_of(j))) continue;
      for (const auto& a : items[i].live) {
        for (const auto& b : items[j].live) ASSERT_FALSE(a.overlaps(b)) << "items " << i << " and " << j;
      }
    }
  }
}

// Everything that an assignment promises.
inline void expect_valid(const std::vector<memory::OffsetItem>& items, const memory::OffsetAssignment& result) {
  ASSERT_NO_FATAL_FAILURE(expect_apart(items, result.offsets));
  Bytes height = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].live.empty()) continue;
    height = std::max(height, result.offsets[i] + align_up(items[i].bytes, items[i].alignment));
  }
  EXPECT_EQ(result.height, height);
  EXPECT_GE(result.height, result.lower_bound);
}

// A forward and backward pass of n ops: an activation lives from its op to its mirror image, with a short-lived
// gradient beside it and a workspace used by both. With `offloaded`, most activations are away in between.
inline std::vector<memory::OffsetItem> training_step(std::uint64_t seed, std::int32_t n, bool offloaded) {
  std::vector<memory::OffsetItem> items;
  for (std::int32_t i = 0; i < n; ++i) {
    const auto draw = [&](std::uint64_t stream, std::uint64_t limit) {
      return static_cast<std::int32_t>(random_bits(seed, stream, static_cast<std::uint64_t>(i)) % limit);
    };
    const Bytes activation = memory::kBlockAlignment * (1 + draw(1, 2000));
    const std::int32_t mirror = 2 * n - i;
    if (offloaded && draw(4, 5) != 0) {
      const std::int32_t stay = 1 + draw(5, 8);
      items.push_back({activation, {{i, std::min(i + stay, n)}}, {}});
      items.push_back({activation, {{std::max(mirror - stay, n), mirror}}, {}});
    } else {
      items.push_back({activation, {{i, mirror}}, {}});
    }
    items.push_back({memory::kBlockAlignment * (1 + draw(2, 2000)), {{mirror - 1, mirror + 1}}, {}});
    items.push_back({memory::kBlockAlignment * (1 + draw(3, 500)), {{i, i + 1}, {mirror - 1, mirror}}, {}});
  }
  return items;
}

// A rectangle of `sections` by `capacity`, cut in two again and again: the pieces fit, and fill it.
inline std::vector<memory::OffsetItem> dissected(std::uint64_t seed, std::int32_t sections, Bytes capacity,
                                                 std::size_t pieces) {
  std::vector<memory::OffsetItem> items{{.bytes = capacity, .live = {{0, sections}}, .alignment = 1}};
  for (std::uint64_t cut = 0; items.size() < pieces; ++cut) {
    memory::OffsetItem& item = items[random_bits(seed, 1, cut) % items.size()];
    const auto where = random_bits(seed, 2, cut);
    Interval<std::int32_t>& live = item.live.front();
    memory::OffsetItem other = item;
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

}  // namespace sluice::testing
