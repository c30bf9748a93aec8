// Encodes and decodes chunks by the encoding that is asked for. One for each thread. Nothing is allocated after it is
// made.
#pragma once

#include "sluice/memory/encoding/zero_value.hpp"

namespace sluice::memory {

class ChunkCoder {
 public:
  // For sizes and rooms see zero_value.hpp and narrow.hpp. `encoding` is not kNone.
  StoredChunk encode(Encoding encoding, const std::byte* chunk, Bytes bytes, Bytes element_bytes, std::byte* encoded);
  void decode(Encoding encoding, std::byte* chunk, Bytes bytes, Bytes element_bytes, const StoredChunk& stored);

 private:
  ZeroValueCoder zero_value_;
};

// What `bytes`, a multiple of kBlockAlignment, take of a transfer when they are encoded.
Bytes measure_encoded(Encoding encoding, const std::byte* data, Bytes bytes, Bytes element_bytes);

}  // namespace sluice::memory
