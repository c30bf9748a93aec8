// How one encoded chunk (encoding.hpp) lies in the slow tier, whatever the encoding.
#pragma once

#include <algorithm>

#include "sluice/memory/encoding/encoding.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::memory {

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
