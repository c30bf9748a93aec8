#include "sluice/memory/encoding/narrow.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/encoding/chunk_coder.hpp"
#include "sluice/testing/random/seeded_random.hpp"

namespace sluice::memory {
namespace {

using Integers = std::vector<std::byte>;

// Elements below `bound`, one of which is bound - 1.
Integers random_integers(testing::SeededRandom& random, Bytes bytes, Bytes element_bytes, std::uint64_t bound) {
  Integers chunk(as_index(bytes));
  const auto size = as_index(element_bytes);
  for (std::size_t at = 0; at < chunk.size(); at += size) {
    const auto element = static_cast<std::uint32_t>(random.between<std::uint64_t>(0, bound - 1));
    std::memcpy(chunk.data() + at, &element, size);
  }
  const auto largest = static_cast<std::uint32_t>(bound - 1);
  const auto where = static_cast<std::size_t>(random.between<Bytes>(0, bytes / element_bytes - 1));
  std::memcpy(chunk.data() + where * size, &largest, size);
  return chunk;
}

// As if read from a slow tier, over what was there before.
Integers decoded_integers(const Integers& encoded, const StoredChunk& stored, Bytes element_bytes) {
  Integers room(encoded.size(), std::byte{0x5a});
  std::memcpy(room.data(), encoded.data(), as_index(stored.stored_bytes));
  decode_narrow(room.data(), std::ssize(room), element_bytes, stored);
  return room;
}

struct Width {
  Bytes element_bytes;
  std::uint64_t bound;
  int bits;
};

class NarrowWidths : public ::testing::TestWithParam<Width> {};

TEST_P(NarrowWidths, GivesBackEveryElementInAsFewBits) {
  const auto& [element_bytes, bound, bits] = GetParam();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::SeededRandom random(seed);
    const Bytes bytes = kBlockAlignment * random.between<Bytes>(1, kEncodedChunkBytes / kBlockAlignment);
    const Integers chunk = random_integers(random, bytes, element_bytes, bound);
    Integers encoded(chunk.size());
    const StoredChunk stored = encode_narrow(chunk.data(), bytes, element_bytes, encoded.data());
    EXPECT_EQ(stored, measure_narrow(chunk.data(), bytes, element_bytes));
    const Bytes packed = bytes / element_bytes * bits / 8;
    ASSERT_EQ(stored.stored_bytes, align_up(packed, kBlockAlignment));
    if (stored.stored_bytes == bytes) continue;
    EXPECT_EQ(stored.value_bytes, packed);
    ASSERT_TRUE(decoded_integers(encoded, stored, element_bytes) == chunk);
  }
}

INSTANTIATE_TEST_SUITE_P(All, NarrowWidths,
                         ::testing::Values(Width{1, 1, 1}, Width{1, 2, 1}, Width{1, 3, 2}, Width{1, 4, 2},
                                           Width{1, 9, 4}, Width{1, 16, 4}, Width{1, 17, 8}, Width{1, 256, 8},
                                           Width{4, 2, 1}, Width{4, 4, 2}, Width{4, 10, 4}, Width{4, 256, 8},
                                           Width{4, 257, 16}, Width{4, 65536, 16}, Width{4, 65537, 32},
                                           Width{4, 1ULL << 32U, 32}),
                         [](const auto& tested) {
                           return "Below" + std::to_string(tested.param.bound) + "Of" +
                                  std::to_string(tested.param.element_bytes) + "Bytes";
                         });

TEST(Narrow, TheFirstElementIsInTheLowestBits) {
  Integers chunk(2 * kBlockAlignment);
  for (std::size_t i = 0; i < 8; ++i) chunk[i] = static_cast<std::byte>(i % 4);
  Integers encoded(chunk.size());
  ASSERT_EQ(encode_narrow(chunk.data(), 2 * kBlockAlignment, 1, encoded.data()).value_bytes, kBlockAlignment / 2);
  EXPECT_EQ(encoded[0], std::byte{0b11100100});
  EXPECT_EQ(encoded[1], std::byte{0b11100100});
  EXPECT_EQ(encoded[2], std::byte{0});
}

TEST(Narrow, ANegativeNumberTakesItsChunkAsItIs) {
  Integers tensor(as_index(2 * kEncodedChunkBytes));
  const std::int32_t negative = -1;
  std::memcpy(tensor.data() + kEncodedChunkBytes + 400, &negative, sizeof negative);
  const Bytes first = kEncodedChunkBytes / 32;  // a bit of each
  EXPECT_EQ(measure_encoded(Encoding::kNarrow, tensor.data(), 2 * kEncodedChunkBytes, 4), first + kEncodedChunkBytes);
}

}  // namespace
}  // namespace sluice::memory
