// Items of an offset-assignment problem as the exact search sees them: over sections of time instead of times.
//
// What is live together at some moment decides where items may lie, and most moments say less than another one beside
// them. A section is a moment at which something was added since something last ended: every set of items that are ever
// live together is part of a section's. Items meet in time exactly if they share a section.
//
//   item a   |-------------|
//   item b       |----|                  sections: 0: a b    1: a c    2: d
//   item c               |------|
//   item d                      |-----|
//
// Items that take no room are left out. Cost: O(n log n + n x sections).
#pragma once

#include <span>
#include <vector>

#include "sluice/memory/offsets/offset_allocator.hpp"

namespace sluice::memory {

using Section = std::int32_t;

struct OffsetBlock {
  std::size_t item = 0;
  Bytes bytes = 0;  // a multiple of `alignment`
  Bytes alignment = 1;
  std::vector<Interval<Section>> sections;  // ascending, apart from each other or touching
  Section length = 0;                       // their number
  Bytes busiest = 0;                        // most bytes live in any of its sections

  Interval<Section> span() const { return {sections.front().begin, sections.back().end}; }
  bool alike(const OffsetBlock& other) const {
    return bytes == other.bytes && alignment == other.alignment && sections == other.sections;
  }
};

bool live_together(const OffsetBlock& a, const OffsetBlock& b);

// A fixed offset is a broken invariant (SLUICE_CHECK): the search places every item by itself.
std::vector<OffsetBlock> blocks_of(std::span<const OffsetItem> items);

}  // namespace sluice::memory
