// Offsets within a budget: the portfolio of assign_offsets(), and where that misses the budget, the exact
// search for the large items alone.
//
// What is moved in and out of the fast tier lives briefly, and the portfolio loses a few to a few tens of per cent
// there. Few items are large, and it is they that get in each other's way: they are searched, above the items that are
// always live, and the small ones go into the holes that are left. Where the small ones then pass the budget, more of
// them count as large.
//
//   budget  +--------------------------+
//           | large items: the search; |
//           | small ones in the holes  |
//           +--------------------------+
//           | always live              |
//         0 +--------------------------+
//
// Deterministic: the effort is counted, not timed, so that offsets are the same on every machine.
#pragma once

#include "sluice/memory/offsets/offset_allocator.hpp"

namespace sluice::memory {

// About 0.1 s on a processor of 2020; see SearchLimit.
inline constexpr std::int64_t kPackingEffort = 40'000'000;
inline constexpr std::int64_t kPortfolioAlone = 0;

// The height may be above the budget. Where an item has a fixed offset, it is the portfolio's.
OffsetAssignment pack_offsets(std::span<const OffsetItem> items, Bytes budget, std::int64_t effort = kPackingEffort);

}  // namespace sluice::memory
