// The zero-value encoding of one chunk (encoding.hpp): the elements that are not zero, in order, then the mask.
//
//   chunk      3 0 0 7 0 5 ...                elements of 4 bytes (f32) or 2 (bf16)
//   encoded    3 7 5 ... | mask | ...         values, one bit per element, up to the end of the block
//
// A chunk is decoded where it lies: it is read to where it is to be, and expanded from its end backwards. Element i
// never lies in front of the value it is made from, so no value is overwritten before it has been used; the mask is set
// aside. With AVX-512 sixteen elements at a time, else (and for 2 bytes) one by one; the bits are the same.
//
// One coder for each thread. Nothing is allocated after it is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sluice/memory/encoding/encoding.hpp"

namespace sluice::memory {

// Whether vector instructions may be used: kPlain shows that the loops make the same bits.
enum class ZeroValueLoops { kBest, kPlain };

class ZeroValueCoder {
 public:
  explicit ZeroValueCoder(ZeroValueLoops loops = ZeroValueLoops::kBest);

  // `bytes`, at most kEncodedChunkBytes, is a multiple of kBlockAlignment; `encoded` has room for as many. Where the
  // chunk is to lie as it is, `encoded` is undefined.
  StoredChunk encode(const std::byte* chunk, Bytes bytes, Bytes element_bytes, std::byte* encoded);

  // `chunk`, of `bytes`, begins with what encode() made. Not for one that lies as it is.
  void decode(std::byte* chunk, Bytes bytes, Bytes element_bytes, const StoredChunk& stored);

 private:
  bool vectors_;
  std::vector<std::uint8_t> mask_;  // of one chunk
};

// The same without making it, to see what it would take.
StoredChunk measure_zero_value(const std::byte* chunk, Bytes bytes, Bytes element_bytes);

}  // namespace sluice::memory
