#include "sluice/memory/encoding/narrow.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "sluice/base/as_index.hpp"
#include "sluice/base/check.hpp"

namespace sluice::memory {
namespace {

constexpr Bytes kGroup = 8;  // elements that are packed at a time
constexpr int kBitsOfByte = 8;

// The low `bits` of each part of `lane` bits of a word.
constexpr std::uint64_t low_bits(int bits, int lane) {
  std::uint64_t mask = 0;
  for (int at = 0; at < 64; at += lane) mask |= ((std::uint64_t{1} << bits) - 1) << at;
  return mask;
}

// Eight bytes' low kWidth bits beside each other: pairs of bytes, then of 16, then of 32 bits move together.
template <int kWidth>
std::uint64_t pack_word(std::uint64_t word) {
  if constexpr (kWidth < kBitsOfByte) {
    word = (word | word >> (8 - kWidth)) & low_bits(2 * kWidth, 16);
    word = (word | word >> (16 - 2 * kWidth)) & low_bits(4 * kWidth, 32);
    word = (word | word >> (32 - 4 * kWidth)) & ((std::uint64_t{1} << (8 * kWidth)) - 1);
  }
  return word;
}

template <int kWidth>
std::uint64_t unpack_word(std::uint64_t word) {
  if constexpr (kWidth < kBitsOfByte) {
    word = (word | word << (32 - 4 * kWidth)) & low_bits(4 * kWidth, 32);
    word = (word | word << (16 - 2 * kWidth)) & low_bits(2 * kWidth, 16);
    word = (word | word << (8 - kWidth)) & low_bits(kWidth, 8);
  }
  return word;
}

// Eight elements' lowest bytes.
template <typename Element>
std::uint64_t load_group(const std::byte* elements) {
  std::array<Element, kGroup> group{};
  std::memcpy(group.data(), elements, sizeof group);
  if constexpr (sizeof(Element) == 1) return std::bit_cast<std::uint64_t>(group);
  std::array<std::uint8_t, kGroup> bytes{};
  for (std::size_t i = 0; i < group.size(); ++i) bytes[i] = static_cast<std::uint8_t>(group[i]);
  return std::bit_cast<std::uint64_t>(bytes);
}

template <typename Element>
void store_group(std::uint64_t word, std::byte* elements) {
  const auto bytes = std::bit_cast<std::array<std::uint8_t, kGroup>>(word);
  std::array<Element, kGroup> group{};
  for (std::size_t i = 0; i < group.size(); ++i) group[i] = bytes[i];
  std::memcpy(elements, group.data(), sizeof group);
}

template <typename Element, int kWidth>
void pack(const std::byte* chunk, Bytes groups, std::byte* encoded) {
  for (Bytes i = 0; i < groups; ++i) {
    const std::uint64_t word = pack_word<kWidth>(load_group<Element>(chunk + i * kGroup * Bytes{sizeof(Element)}));
    std::memcpy(encoded + i * kWidth, &word, kWidth);
  }
}

template <typename Element, int kWidth>
void unpack(std::byte* chunk, Bytes groups) {
  for (Bytes i = groups; i-- > 0;) {
    std::uint64_t word = 0;
    std::memcpy(&word, chunk + i * kWidth, kWidth);
    store_group<Element>(unpack_word<kWidth>(word), chunk + i * kGroup * Bytes{sizeof(Element)});
  }
}

void pack_halves(const std::byte* chunk, Bytes elements, std::byte* encoded) {
  for (Bytes i = 0; i < elements; ++i) std::memcpy(encoded + i * 2, chunk + i * 4, 2);
}

void unpack_halves(std::byte* chunk, Bytes elements) {
  for (Bytes i = elements; i-- > 0;) {
    std::uint16_t half = 0;
    std::memcpy(&half, chunk + i * 2, sizeof half);
    const std::uint32_t element = half;
    std::memcpy(chunk + i * 4, &element, sizeof element);
  }
}

template <typename Element>
void pack_as(int width, const std::byte* chunk, Bytes elements, std::byte* encoded) {
  const Bytes groups = elements / kGroup;
  if (width == 1) return pack<Element, 1>(chunk, groups, encoded);
  if (width == 2) return pack<Element, 2>(chunk, groups, encoded);
  if (width == 4) return pack<Element, 4>(chunk, groups, encoded);
  if (width == 8) return pack<Element, 8>(chunk, groups, encoded);
  pack_halves(chunk, elements, encoded);
}

template <typename Element>
void unpack_as(int width, std::byte* chunk, Bytes elements) {
  const Bytes groups = elements / kGroup;
  if (width == 1) return unpack<Element, 1>(chunk, groups);
  if (width == 2) return unpack<Element, 2>(chunk, groups);
  if (width == 4) return unpack<Element, 4>(chunk, groups);
  if (width == 8) return unpack<Element, 8>(chunk, groups);
  unpack_halves(chunk, elements);
}

// The bits that any element has.
template <typename Element>
std::uint32_t all_bits(const std::byte* chunk, Bytes bytes) {
  std::uint64_t all = 0;
  for (Bytes at = 0; at < bytes; at += kGroup) {
    std::uint64_t word = 0;
    std::memcpy(&word, chunk + at, sizeof word);
    all |= word;
  }
  Element folded = 0;
  for (std::size_t at = 0; at < sizeof all; at += sizeof(Element)) {
    folded = static_cast<Element>(folded | static_cast<Element>(all >> (at * kBitsOfByte)));
  }
  return folded;
}

// 1, 2, 4, 8, 16 or 32.
int width_of(const std::byte* chunk, Bytes bytes, Bytes element_bytes) {
  const std::uint32_t bits =
      element_bytes == 1 ? all_bits<std::uint8_t>(chunk, bytes) : all_bits<std::uint32_t>(chunk, bytes);
  return static_cast<int>(std::bit_ceil(std::max(1U, static_cast<unsigned>(std::bit_width(bits)))));
}

}  // namespace

StoredChunk measure_narrow(const std::byte* chunk, Bytes bytes, Bytes element_bytes) {
  SLUICE_CHECK(bytes > 0 && bytes <= kEncodedChunkBytes && bytes % kBlockAlignment == 0, "a chunk's size");
  const int width = width_of(chunk, bytes, element_bytes);
  return stored_in_blocks(bytes, bytes / element_bytes * width / kBitsOfByte, 0);
}

StoredChunk encode_narrow(const std::byte* chunk, Bytes bytes, Bytes element_bytes, std::byte* encoded) {
  const StoredChunk stored = measure_narrow(chunk, bytes, element_bytes);
  if (stored.stored_bytes == bytes) return stored;
  const Bytes elements = bytes / element_bytes;
  const auto width = static_cast<int>(stored.value_bytes * kBitsOfByte / elements);
  if (element_bytes == 1) {
    pack_as<std::uint8_t>(width, chunk, elements, encoded);
  } else {
    pack_as<std::uint32_t>(width, chunk, elements, encoded);
  }
  std::memset(encoded + stored.value_bytes, 0, as_index(stored.stored_bytes - stored.value_bytes));
  return stored;
}

void decode_narrow(std::byte* chunk, Bytes bytes, Bytes element_bytes, const StoredChunk& stored) {
  SLUICE_CHECK(stored.stored_bytes < bytes && bytes <= kEncodedChunkBytes, "a chunk that is encoded");
  const Bytes elements = bytes / element_bytes;
  const auto width = static_cast<int>(stored.value_bytes * kBitsOfByte / elements);
  if (element_bytes == 1) {
    unpack_as<std::uint8_t>(width, chunk, elements);
  } else {
    unpack_as<std::uint32_t>(width, chunk, elements);
  }
}

}  // namespace sluice::memory
