// How bytes may lie in a slow tier: as they are, or in a lossless encoding, of which fewer bytes have to move.
//
// kZeroValue keeps the elements that are not zero and a mask of one bit per element that says which they are. Zero means
// that every bit is zero: a negative zero and every NaN keep their bits.
//
// kNarrow keeps of integers the low bits that the largest of a chunk needs: 1, 2, 4, 8 or 16 of each.
//
// What is encoded lies in chunks. Each chunk begins where it would begin unencoded, so that the room is the worst case,
// and takes as many whole blocks of a disk as it needs, or lies there as it is where encoding it would save none.
// Pure functions. Thread-safe.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

#include "sluice/memory/machine.hpp"

namespace sluice::memory {

enum class Encoding { kNone, kZeroValue, kNarrow };

inline constexpr Bytes kEncodedChunkBytes = 256 * kKiB;  // unencoded; the last one of a range may be shorter

std::string_view to_string(Encoding encoding);  // "zero-value"
std::optional<Encoding> parse_encoding(std::string_view name);

// How one chunk lies in the slow tier, whatever the encoding.
struct StoredChunk {
  Bytes value_bytes = 0;   // of the elements that are kept, packed
  Bytes stored_bytes = 0;  // in whole blocks; as many as the chunk has: it lies there as it is
  bool operator==(const StoredChunk&) const = default;
};

// Of a chunk of `bytes` of which `value_bytes` are kept, with `more_bytes` behind them.
constexpr StoredChunk stored_in_blocks(Bytes bytes, Bytes value_bytes, Bytes more_bytes) {
  return {value_bytes, std::min(bytes, align_up(value_bytes + more_bytes, kBlockAlignment))};
}

}  // namespace sluice::memory
