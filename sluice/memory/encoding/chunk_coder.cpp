#include "sluice/memory/encoding/chunk_coder.hpp"

#include <algorithm>

#include "sluice/memory/encoding/narrow.hpp"

namespace sluice::memory {

StoredChunk ChunkCoder::encode(Encoding encoding, const std::byte* chunk, Bytes bytes, Bytes element_bytes,
                               std::byte* encoded) {
  if (encoding == Encoding::kNarrow) return encode_narrow(chunk, bytes, element_bytes, encoded);
  return zero_value_.encode(chunk, bytes, element_bytes, encoded);
}

void ChunkCoder::decode(Encoding encoding, std::byte* chunk, Bytes bytes, Bytes element_bytes,
                        const StoredChunk& stored) {
  if (encoding == Encoding::kNarrow) return decode_narrow(chunk, bytes, element_bytes, stored);
  zero_value_.decode(chunk, bytes, element_bytes, stored);
}

Bytes measure_encoded(Encoding encoding, const std::byte* data, Bytes bytes, Bytes element_bytes) {
  const auto measure = encoding == Encoding::kNarrow ? measure_narrow : measure_zero_value;
  Bytes sum = 0;
  for (Bytes begin = 0; begin < bytes; begin += kEncodedChunkBytes) {
    sum += measure(data + begin, std::min(kEncodedChunkBytes, bytes - begin), element_bytes).stored_bytes;
  }
  return sum;
}

}  // namespace sluice::memory
