// Packs items into memory that may be stitched (stitch.hpp): nothing is lost to fragmentation but what small items leave
// of their pages.
//
// Items are placed in the order in which they begin to live. Whatever is free then stays free until the next one comes,
// so each takes the tightest piece that holds it, and pieces of several where none does. That would always find room, if
// it were not for the cycle: what begins and ends the cycle in the same place and is away in between leaves memory that
// others may use only until it comes back. So free memory has an end, and of the pieces that last long enough those that
// end first are taken. Where that fails although the bytes would be enough, `missing` says by how much.
//
// Where the memory of an earlier stitch is free again, and lasts no longer than needed, its addresses are used again:
// mapping takes time, and hosts that keep page tables of their own for a guest have no room for many.
//
// Cost: items times pieces of free memory, and of stitches; 3,000 items take some milliseconds. Deterministic.
#pragma once

#include <span>
#include <vector>

#include "sluice/memory/offsets/offset_allocator.hpp"
#include "sluice/memory/stitch.hpp"

namespace sluice::memory {

struct StitchedPacking {
  std::vector<Bytes> addresses;  // by item; 0 for one that is never live
  std::vector<Stitch> stitches;  // ascending
  Bytes missing = 0;             // 0: all have room
};

// Items with fixed offsets are a broken invariant of the caller. Stitches begin at `first_address`, not below `memory`.
StitchedPacking pack_stitched(std::span<const OffsetItem> items, Bytes memory, Bytes first_address);

}  // namespace sluice::memory
