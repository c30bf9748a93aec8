// Addresses whose memory lies in several pieces: so that data fit wherever enough pages are free, in one piece or
// not, and no byte of a budget is lost to fragmentation.
//
//   memory      0        64K      128K     192K     256K
//               |  A     | free   |   B    | free   |
//   addresses            [320K, 384K) is [64K, 128K),  [384K, 448K) is [192K, 256K):  128K lie there
//
// An arena's addresses begin with its memory; stitches follow behind it. The pages are mapped once, before the first
// use (memory/arena.hpp); neither who computes nor who copies knows of them. The idea is that of virtual memory stitching (Guo et
// al., "GMLake", ASPLOS 2024), here decided ahead, so that nothing is mapped later.
#pragma once

#include <span>
#include <vector>

#include "sluice/base/interval.hpp"
#include "sluice/base/units.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::memory {

// All in whole pages of kBlockAlignment.
struct Stitch {
  Bytes address = 0;                    // the first
  std::vector<Interval<Bytes>> memory;  // one after the other
  bool operator==(const Stitch&) const = default;
};

inline Bytes stitch_end(const Stitch& stitch) {
  Bytes end = stitch.address;
  for (const Interval<Bytes>& piece : stitch.memory) end += piece.length();
  return end;
}

// The memory behind addresses, in their order. `stitches` ascend; addresses before the first of them are memory.
std::vector<Interval<Bytes>> memory_behind(std::span<const Stitch> stitches, Interval<Bytes> addresses);

}  // namespace sluice::memory
