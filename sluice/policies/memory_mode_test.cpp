// The direct-mapped cache against cases drawn by hand and a reference that keeps every set in an array.
#include "sluice/policies/memory_mode.hpp"

#include <gtest/gtest.h>

#include <array>

#include "sluice/base/as_index.hpp"
#include "sluice/policies/ask_for_tests.hpp"
#include "sluice/testing/random/seeded_random.hpp"

namespace sluice::policies {
namespace {

constexpr Bytes kLine = 64;

Access read(Bytes first_line, Bytes lines) { return {{first_line * kLine, (first_line + lines) * kLine}, true, false}; }
Access write(Bytes first_line, Bytes lines) {
  return {{first_line * kLine, (first_line + lines) * kLine}, false, true};
}

MemoryMode make(Bytes sets, Bytes lines) { return {two_tiers(sets * kLine, lines * kLine), {.page_bytes = kLine}}; }

TEST(MemoryMode, FindsWhatWasUsedBefore) {
  MemoryMode cache = make(8, 32);
  const Answer first = ask(cache, {read(2, 3)}, 0);
  EXPECT_EQ(first.slow_in_all().read, 3 * kLine);
  EXPECT_EQ(first.filled, 3 * kLine);
  EXPECT_EQ(first.found_fast, 0);
  const Answer second = ask(cache, {read(2, 4)}, 0);
  EXPECT_EQ(second.found_fast, 3 * kLine);
  EXPECT_EQ(second.slow_in_all().read, kLine);
}

// Lines 1 and 9 share a set of 8, with six others empty.
TEST(MemoryMode, TwoLinesOfASetEvictEachOther) {
  MemoryMode cache = make(8, 32);
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_EQ(ask(cache, {read(1, 1)}, 0).found_fast, 0);
    EXPECT_EQ(ask(cache, {read(9, 1)}, 0).found_fast, 0);
  }
  EXPECT_EQ(ask(cache, {read(9, 1)}, 0).found_fast, kLine);
}

TEST(MemoryMode, WritesFetchAndDirtyVictimsGoBack) {
  MemoryMode cache = make(8, 32);
  const Answer written = ask(cache, {write(0, 4)}, 0);
  EXPECT_EQ(written.slow_in_all().read, 0);
  EXPECT_EQ(written.slow_in_all().extra_read, 4 * kLine);
  EXPECT_EQ(written.slow_in_all().extra_written, 0);
  const Answer clean = ask(cache, {read(12, 4)}, 0);  // sets 4 to 7
  EXPECT_EQ(clean.slow_in_all().extra_written, 0);
  const Answer evicting = ask(cache, {read(9, 2)}, 0);  // sets 1 and 2, dirty
  EXPECT_EQ(evicting.slow_in_all().extra_written, 2 * kLine);
  EXPECT_EQ(ask(cache, {read(1, 2)}, 0).slow_in_all().extra_written, 0);  // 9 and 10 were only read
}

TEST(MemoryMode, ARangeLongerThanTheCacheEvictsItself) {
  MemoryMode cache = make(8, 32);
  EXPECT_EQ(ask(cache, {write(3, 20)}, 0).slow_in_all().extra_written, 12 * kLine);
  EXPECT_EQ(ask(cache, {read(15, 8)}, 0).found_fast, 8 * kLine);  // the last eight
}

// 4 lines written: 4 fetched and filled, 4 written by the op; then 4 others push them out: 4 filled, 4 written back.
TEST(MemoryMode, CountsWriteAmplification) {
  MemoryMode cache = make(4, 8);
  EXPECT_TRUE(cache.figures().empty());
  ask(cache, {write(0, 4)}, 0);
  EXPECT_DOUBLE_EQ(cache.figures().at(0).second, 2);
  ask(cache, {read(4, 4)}, 0);
  EXPECT_DOUBLE_EQ(cache.figures().at(0).second, 4);
}

TEST(MemoryMode, EqualsACacheThatKeepsEverySet) {
  constexpr std::uint64_t kSeed = 815;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  testing::SeededRandom random(kSeed);
  const auto below = [&](Bytes limit) { return random.between<Bytes>(0, limit - 1); };
  constexpr Bytes kSets = 37;
  constexpr Bytes kLines = 200;
  MemoryMode cache = make(kSets, kLines);
  std::array<Bytes, kSets> tags;
  std::array<bool, kSets> dirty{};
  tags.fill(-1);
  for (int op = 0; op < 5000; ++op) {
    const Bytes begin = below(kLines * kLine);
    const Access access{{begin, std::min(kLines * kLine, begin + 1 + below(60 * kLine))}, below(2) == 0, below(2) == 0};
    Bytes missed = 0;
    Bytes victims = 0;
    for (Bytes line = access.bytes.begin / kLine; line * kLine < access.bytes.end; ++line) {
      const auto set = as_index(line % kSets);
      if (tags[set] != line / kSets) {
        ++missed;
        victims += dirty[set] ? 1 : 0;
        tags[set] = line / kSets;
        dirty[set] = false;
      }
      dirty[set] = dirty[set] || access.writes;
    }
    const Answer charge = ask(cache, {access}, op);
    ASSERT_EQ(charge.slow_in_all().read + charge.slow_in_all().extra_read, missed * kLine) << "op " << op;
    ASSERT_EQ(charge.slow_in_all().extra_written, victims * kLine) << "op " << op;
    ASSERT_EQ(charge.filled, missed * kLine) << "op " << op;
  }
}

}  // namespace
}  // namespace sluice::policies
