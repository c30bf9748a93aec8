// Encodes and decodes chunks by the encoding that a plan gave them. One for each thread. Nothing is allocated after it is
// made.
#pragma once

#include "sluice/memory/encoding/zero_value.hpp"

namespace sluice {

class ChunkCoder {
 public:
  // For sizes and rooms see zero_value.hpp and narrow.hpp. `encoding` is not kNone.
  StoredChunk encode(Encoding encoding, const std::byte* chunk, Bytes bytes, Bytes element_bytes, std::byte* encoded);
  void decode(Encoding encoding, std::byte* chunk, Bytes bytes, Bytes element_bytes, const StoredChunk& stored);

 private:
  ZeroValueCoder zero_value_;
};

// What a tensor of `bytes`, a multiple of kTensorAlignment, takes of a transfer when it is encoded.
Bytes measure_encoded(Encoding encoding, const std::byte* tensor, Bytes bytes, Bytes element_bytes);

}  // namespace sluice
