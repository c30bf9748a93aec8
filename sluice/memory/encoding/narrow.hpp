// The narrow encoding of one chunk (encoding.hpp): of each integer the low bits that the chunk's largest needs.
//
//   chunk      2 0 3 1 1 0 2 3                elements of 1 byte (u8) or 4 (i32), taken as unsigned
//   encoded    10 00 11 01 01 00 10 11        1, 2, 4, 8 or 16 bits of each, the first in the lowest bits
//
// The width is not stored: it follows from StoredChunk::value_bytes. A chunk with a negative number lies as it is.
//
// A chunk is decoded where it lies, from its end backwards: eight elements never lie in front of the bits they are made
// from. Eight one-byte elements are one word, packed in three shifts and masks. Pure functions. Thread-safe.
#pragma once

#include <cstddef>

#include "sluice/memory/encoding/encoding.hpp"

namespace sluice::memory {

// `bytes`, at most kEncodedChunkBytes, is a multiple of kBlockAlignment; `encoded` has room for as many. Where the
// chunk is to lie as it is, `encoded` is left as it was.
StoredChunk encode_narrow(const std::byte* chunk, Bytes bytes, Bytes element_bytes, std::byte* encoded);

// `chunk`, of `bytes`, begins with what encode_narrow() made. Not for one that lies as it is.
void decode_narrow(std::byte* chunk, Bytes bytes, Bytes element_bytes, const StoredChunk& stored);

// What encode_narrow() would return.
StoredChunk measure_narrow(const std::byte* chunk, Bytes bytes, Bytes element_bytes);

}  // namespace sluice::memory
