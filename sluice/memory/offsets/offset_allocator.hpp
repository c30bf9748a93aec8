// Planning-time offset assignment: where each item goes in an arena, given when it is live. Offsets only, never memory.
//
//   offset
//     |  +--------+      +---+        two items may share bytes unless some of their
//     |  |   B    |      | B |        live intervals overlap; an item keeps one offset
//     |  +--+-----+--+---+---+        over all of its intervals
//     |     |   C    |
//     +--------------------------> time (any half-open integer intervals)
//
// Dynamic storage allocation is NP-hard. A small portfolio of placement orders is tried, each item going to the
// tightest hole among the items placed before it, and the lowest result is kept. Where live ranges nest, as those of what
// is undone in the reverse order do, that is within a few per cent of the lower bound; where items come and go, offset_packer.hpp does better.
// Deterministic. Cost: O(n^2) per order at worst; brief items cost only their neighbours (3,000 items: a few ms). An
// impossible fixed offset is a broken invariant of the caller (SLUICE_CHECK).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sluice/base/interval.hpp"
#include "sluice/base/units.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::memory {

struct OffsetItem {
  Bytes bytes = 0;                           // rounded up to `alignment`
  std::vector<Interval<std::int32_t>> live;  // disjoint, in any order; none: takes no room
  std::optional<Bytes> fixed_offset;         // must be a multiple of `alignment`
  Bytes alignment = kBlockAlignment;         // of the offset
};

struct OffsetAssignment {
  std::vector<Bytes> offsets;  // by item, multiples of its alignment
  Bytes height = 0;            // highest byte used
  Bytes lower_bound = 0;       // no assignment can be lower: most live bytes at any time, or the highest fixed end
};

// Stops at the first order whose height is at most `target` (a budget), or at the lower bound.
OffsetAssignment assign_offsets(std::span<const OffsetItem> items, Bytes target = 0);

// The first of at most `budget`; each order is given up where it passes that, so that failing costs less.
std::optional<OffsetAssignment> assign_offsets_within(std::span<const OffsetItem> items, Bytes budget);

// One past the highest byte that any item takes at `offsets`; items that are never live take none.
Bytes height_of(std::span<const OffsetItem> items, std::span<const Bytes> offsets);

// The lower bound alone, O(n log n).
Bytes max_live_bytes(std::span<const OffsetItem> items);

}  // namespace sluice::memory
