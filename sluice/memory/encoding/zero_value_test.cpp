#include "sluice/memory/encoding/zero_value.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/encoding/chunk_coder.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/testing/random/seeded_random.hpp"

namespace sluice::memory {
namespace {

using Chunk = std::vector<std::byte>;

// Elements of any bits but zero, with a share of zeros.
Chunk random_chunk(testing::SeededRandom& random, Bytes bytes, Bytes element_bytes, double zeros) {
  Chunk chunk(as_index(bytes));
  for (std::size_t at = 0; at < chunk.size(); at += as_index(element_bytes)) {
    if (random.chance(zeros)) continue;
    const auto bits = random.between<std::uint32_t>(1, element_bytes == 2 ? 0xffffU : 0xffffffffU);
    std::memcpy(chunk.data() + at, &bits, as_index(element_bytes));
  }
  return chunk;
}

Bytes count_kept(const Chunk& chunk, Bytes element_bytes) {
  const Chunk zero(as_index(element_bytes));
  Bytes kept = 0;
  for (std::size_t at = 0; at < chunk.size(); at += zero.size()) {
    kept += std::memcmp(chunk.data() + at, zero.data(), zero.size()) != 0 ? 1 : 0;
  }
  return kept;
}

// Read to where it is to be, over what was there before, and decoded.
Chunk decoded(ZeroValueCoder& coder, const Chunk& encoded, const StoredChunk& stored, Bytes element_bytes) {
  Chunk room(encoded.size(), std::byte{0x5a});
  std::memcpy(room.data(), encoded.data(), as_index(stored.stored_bytes));
  coder.decode(room.data(), std::ssize(room), element_bytes, stored);
  return room;
}

TEST(ZeroValue, GivesBackEveryBitWhateverTheLoops) {
  int packed = 0, as_they_are = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::SeededRandom random(seed);
    const Bytes element_bytes = random.chance(0.5) ? 2 : 4;
    const Bytes bytes = kBlockAlignment * random.between<Bytes>(1, kEncodedChunkBytes / kBlockAlignment);
    const double zeros = random.pick(std::vector<double>{0, 0.01, 0.1, 0.3, 0.5, 0.9, 0.999, 1});
    const Chunk chunk = random_chunk(random, bytes, element_bytes, zeros);
    ZeroValueCoder best, plain(ZeroValueLoops::kPlain);
    Chunk encoded(chunk.size()), encoded_plainly(chunk.size());
    const StoredChunk stored = best.encode(chunk.data(), bytes, element_bytes, encoded.data());
    ASSERT_EQ(stored, plain.encode(chunk.data(), bytes, element_bytes, encoded_plainly.data()));
    const Bytes needed = count_kept(chunk, element_bytes) * element_bytes + bytes / element_bytes / 8;
    ASSERT_EQ(stored.stored_bytes, std::min(bytes, align_up(needed, kBlockAlignment)));
    if (stored.stored_bytes == bytes) {
      ++as_they_are;
      continue;
    }
    ++packed;
    ASSERT_EQ(std::memcmp(encoded.data(), encoded_plainly.data(), as_index(stored.stored_bytes)), 0);
    ASSERT_TRUE(decoded(best, encoded, stored, element_bytes) == chunk);
    ASSERT_TRUE(decoded(plain, encoded, stored, element_bytes) == chunk);
  }
  EXPECT_GT(packed, 100);
  EXPECT_GT(as_they_are, 50);
}

TEST(ZeroValue, OnlyAllBitsZeroIsZero) {
  Chunk chunk(as_index(2 * kBlockAlignment));
  const std::uint32_t bits[] = {0x80000000U /* -0.0 */, 0x7fc01234U /* a NaN with a payload */, 0xffc00000U,
                                0x00000001U};
  std::memcpy(chunk.data() + 64, bits, sizeof bits);
  ZeroValueCoder coder;
  Chunk encoded(chunk.size());
  const StoredChunk stored = coder.encode(chunk.data(), 2 * kBlockAlignment, 4, encoded.data());
  EXPECT_EQ(stored.value_bytes, static_cast<Bytes>(sizeof bits));
  EXPECT_TRUE(decoded(coder, encoded, stored, 4) == chunk);
}

TEST(ZeroValue, HalfZerosTakeAboutHalf) {
  testing::SeededRandom random(7);
  const Chunk chunk = random_chunk(random, kEncodedChunkBytes, 4, 0.5);
  ZeroValueCoder coder;
  Chunk encoded(chunk.size());
  const Bytes stored = coder.encode(chunk.data(), kEncodedChunkBytes, 4, encoded.data()).stored_bytes;
  EXPECT_NEAR(static_cast<double>(kEncodedChunkBytes) / static_cast<double>(stored), 1.87, 0.05);
}

TEST(ZeroValue, ATensorTakesWhatItsChunksTake) {
  testing::SeededRandom random(3);
  for (const Bytes element_bytes : {2, 4}) {
    const Bytes bytes = 2 * kEncodedChunkBytes + 5 * kBlockAlignment;
    Chunk tensor = random_chunk(random, bytes, element_bytes, 0.7);
    const Chunk dense = random_chunk(random, kEncodedChunkBytes, element_bytes, 0);
    std::memcpy(tensor.data() + kEncodedChunkBytes, dense.data(), dense.size());  // the second saves nothing
    ZeroValueCoder coder;
    Chunk encoded(as_index(kEncodedChunkBytes));
    Bytes sum = 0;
    for (Bytes at = 0; at < bytes; at += kEncodedChunkBytes) {
      const Bytes size = std::min(kEncodedChunkBytes, bytes - at);
      sum += coder.encode(tensor.data() + at, size, element_bytes, encoded.data()).stored_bytes;
    }
    EXPECT_EQ(measure_encoded(Encoding::kZeroValue, tensor.data(), bytes, element_bytes), sum);
    EXPECT_LT(sum, bytes);
  }
}

}  // namespace
}  // namespace sluice::memory
