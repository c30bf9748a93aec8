#include "sluice/memory/encoding/zero_value.hpp"

#include <algorithm>
#include <cstring>

#include "sluice/base/as_index.hpp"
#include "sluice/base/check.hpp"
#include "sluice/memory/machine.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sluice::memory {
namespace {

constexpr Bytes kSmallestElement = 2;
constexpr Bytes kBitsInByte = 8;

Bytes mask_bytes(Bytes bytes, Bytes element_bytes) { return bytes / element_bytes / kBitsInByte; }

// Each returns how many elements were not zero. The values go to `values`, the mask to `mask`.
template <typename Element>
Bytes pack_plain(const std::byte* chunk, Bytes bytes, std::byte* values, std::uint8_t* mask) {
  constexpr auto kSize = Bytes{sizeof(Element)};
  Bytes kept = 0;
  for (Bytes group = 0; group < bytes / kSize / kBitsInByte; ++group) {
    unsigned bits = 0;
    for (Bytes i = 0; i < kBitsInByte; ++i) {
      Element element{};
      std::memcpy(&element, chunk + (group * kBitsInByte + i) * kSize, sizeof element);
      std::memcpy(values + kept * kSize, &element, sizeof element);
      const unsigned nonzero = element != 0 ? 1 : 0;
      bits |= nonzero << static_cast<unsigned>(i);
      kept += nonzero;
    }
    mask[group] = static_cast<std::uint8_t>(bits);
  }
  return kept;
}

// From the end backwards, over the values at the front of `chunk`.
template <typename Element>
void unpack_plain(std::byte* chunk, Bytes bytes, Bytes kept, const std::uint8_t* mask) {
  constexpr auto kSize = Bytes{sizeof(Element)};
  for (Bytes i = bytes / kSize; i-- > 0;) {
    const bool nonzero = ((mask[i / kBitsInByte] >> static_cast<unsigned>(i % kBitsInByte)) & 1U) != 0;
    Element element{};
    if (nonzero) std::memcpy(&element, chunk + --kept * kSize, sizeof element);
    std::memcpy(chunk + i * kSize, &element, sizeof element);
  }
}

#if defined(__x86_64__)

constexpr Bytes kVector = 64;  // bytes: 16 elements of four
constexpr Bytes kWord = 4;

// Compressed in a register and stored whole: what lies behind the values is overwritten by the next ones.
__attribute__((target("avx512f,popcnt"))) Bytes pack_words(const std::byte* chunk, Bytes bytes, std::byte* values,
                                                           std::uint8_t* mask) {
  Bytes kept = 0;
  for (Bytes i = 0; i < bytes / kVector; ++i) {
    const __m512i elements = _mm512_loadu_si512(chunk + i * kVector);
    const __mmask16 nonzero = _mm512_test_epi32_mask(elements, elements);
    _mm512_storeu_si512(values + kept * kWord, _mm512_maskz_compress_epi32(nonzero, elements));
    const auto bits = static_cast<std::uint16_t>(nonzero);
    std::memcpy(mask + i * 2, &bits, sizeof bits);
    kept += _mm_popcnt_u32(bits);
  }
  return kept;
}

__attribute__((target("avx512f,popcnt"))) void unpack_words(std::byte* chunk, Bytes bytes, Bytes kept,
                                                            const std::uint8_t* mask) {
  for (Bytes i = bytes / kVector; i-- > 0;) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, mask + i * 2, sizeof bits);
    kept -= _mm_popcnt_u32(bits);
    const __m512i values = _mm512_loadu_si512(chunk + kept * kWord);
    _mm512_storeu_si512(chunk + i * kVector, _mm512_maskz_expand_epi32(bits, values));
  }
}

bool has_vectors() { return __builtin_cpu_supports("avx512f") != 0; }

#else

Bytes pack_words(const std::byte* chunk, Bytes bytes, std::byte* values, std::uint8_t* mask) {
  return pack_plain<std::uint32_t>(chunk, bytes, values, mask);
}
void unpack_words(std::byte* chunk, Bytes bytes, Bytes kept, const std::uint8_t* mask) {
  unpack_plain<std::uint32_t>(chunk, bytes, kept, mask);
}
bool has_vectors() { return false; }

#endif

template <typename Element>
Bytes count_nonzero(const std::byte* chunk, Bytes bytes) {
  Bytes count = 0;
  for (Bytes i = 0; i < bytes; i += Bytes{sizeof(Element)}) {
    Element element{};
    std::memcpy(&element, chunk + i, sizeof element);
    count += element != 0 ? 1 : 0;
  }
  return count;
}

StoredChunk stored_chunk(Bytes bytes, Bytes element_bytes, Bytes nonzero_elements) {
  return stored_in_blocks(bytes, nonzero_elements * element_bytes, mask_bytes(bytes, element_bytes));
}

}  // namespace

ZeroValueCoder::ZeroValueCoder(ZeroValueLoops loops)
    : vectors_(loops == ZeroValueLoops::kBest && has_vectors()),
      mask_(as_index(mask_bytes(kEncodedChunkBytes, kSmallestElement))) {}

StoredChunk ZeroValueCoder::encode(const std::byte* chunk, Bytes bytes, Bytes element_bytes, std::byte* encoded) {
  SLUICE_CHECK(bytes > 0 && bytes <= kEncodedChunkBytes && bytes % kBlockAlignment == 0, "a chunk's size");
  const Bytes kept = element_bytes == 2 ? pack_plain<std::uint16_t>(chunk, bytes, encoded, mask_.data())
                     : vectors_         ? pack_words(chunk, bytes, encoded, mask_.data())
                                        : pack_plain<std::uint32_t>(chunk, bytes, encoded, mask_.data());
  const StoredChunk stored = stored_chunk(bytes, element_bytes, kept);
  if (stored.stored_bytes == bytes) return stored;
  const Bytes mask = mask_bytes(bytes, element_bytes);
  std::memcpy(encoded + stored.value_bytes, mask_.data(), as_index(mask));
  const Bytes end = stored.value_bytes + mask;
  std::memset(encoded + end, 0, as_index(stored.stored_bytes - end));
  return stored;
}

void ZeroValueCoder::decode(std::byte* chunk, Bytes bytes, Bytes element_bytes, const StoredChunk& stored) {
  SLUICE_CHECK(stored.stored_bytes < bytes && bytes <= kEncodedChunkBytes, "a chunk that is encoded");
  std::memcpy(mask_.data(), chunk + stored.value_bytes, as_index(mask_bytes(bytes, element_bytes)));
  const Bytes kept = stored.value_bytes / element_bytes;
  if (element_bytes == 2) return unpack_plain<std::uint16_t>(chunk, bytes, kept, mask_.data());
  if (!vectors_) return unpack_plain<std::uint32_t>(chunk, bytes, kept, mask_.data());
  unpack_words(chunk, bytes, kept, mask_.data());
}

StoredChunk measure_zero_value(const std::byte* chunk, Bytes bytes, Bytes element_bytes) {
  const Bytes nonzero =
      element_bytes == 2 ? count_nonzero<std::uint16_t>(chunk, bytes) : count_nonzero<std::uint32_t>(chunk, bytes);
  return stored_chunk(bytes, element_bytes, nonzero);
}

}  // namespace sluice::memory
