// Moves of a small address space to a real file and back, against the bytes that were written; how much memory it takes
// is asked of the kernel.
#include "sluice/memory/movers/range_mover.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/testing/random/seeded_random.hpp"

namespace sluice::memory {
namespace {

constexpr Bytes kMovedPage = 64 * kKiB;
constexpr Bytes kSpacePages = 32;
constexpr TierId kFileTier = 1;

Machine machine_with_file() {
  Machine machine;
  machine.tiers = {{.name = "dram", .capacity = kGiB},
                   {.name = "file",
                    .kind = TierKind::kFile,
                    .capacity = kGiB,
                    .addressable = false,
                    .path = ::testing::TempDir() + "sluice_range_mover_test.spill"}};
  machine.links = {{.from = 0, .to = 1}, {.from = 1, .to = 0}};
  return machine;
}

class RangeMoverTest : public ::testing::Test {
 protected:
  RangeMoverTest()
      : storages_(TierStorages::open(machine_, std::vector<Bytes>{kSpacePages * kMovedPage, kSpacePages * kMovedPage})
                      .value()),
        mover_(machine_, storages_, kMovedPage) {}

  static Interval<Bytes> pages(Bytes begin, Bytes end) { return {begin * kMovedPage, end * kMovedPage}; }
  std::byte* page(Bytes index) const { return storages_.base(kFastTier) + index * kMovedPage; }

  void fill(Bytes index, unsigned value) const { std::fill_n(page(index), kMovedPage, static_cast<std::byte>(value)); }
  bool is_filled(Bytes index, unsigned value) const {
    return std::all_of(page(index), page(index) + kMovedPage,
                       [&](std::byte byte) { return byte == static_cast<std::byte>(value); });
  }

  static MoveList list(std::initializer_list<RangeMove> moves) {
    MoveList made;
    for (const RangeMove& move : moves) made.add(move);
    return made;
  }

  Machine machine_ = machine_with_file();
  TierStorages storages_;
  RangeMover mover_;
};

TEST_F(RangeMoverTest, PagesInTheFileTakeNoMemory) {
  for (Bytes index = 0; index < 8; ++index) fill(index, static_cast<unsigned>(index + 1));
  EXPECT_EQ(mover_.resident_bytes(), 8 * kMovedPage);
  ASSERT_TRUE(mover_.perform(list({{pages(2, 7), kFastTier, kFileTier}})).ok());
  EXPECT_EQ(mover_.resident_bytes(), 3 * kMovedPage);
  ASSERT_TRUE(mover_.perform(list({{pages(4, 6), kFileTier, kFastTier}})).ok());
  EXPECT_EQ(mover_.resident_bytes(), 5 * kMovedPage);
  for (const Bytes index : {0, 1, 4, 5, 7}) EXPECT_TRUE(is_filled(index, static_cast<unsigned>(index + 1))) << index;
  ASSERT_TRUE(mover_.perform(list({{pages(9, 20), kUntouched, kFastTier}})).ok());
  EXPECT_EQ(mover_.resident_bytes(), 5 * kMovedPage) << "what is only placed is not touched";
}

TEST_F(RangeMoverTest, WhatIsMovedTwiceInAListEndsWhereTheListSays) {
  fill(0, 7);
  const RangeMove out{pages(0, 1), kFastTier, kFileTier}, in{pages(0, 1), kFileTier, kFastTier};
  ASSERT_TRUE(mover_.perform(list({out, in, out})).ok());
  EXPECT_EQ(mover_.resident_bytes(), 0);
  ASSERT_TRUE(mover_.perform(list({in, out, in})).ok());
  EXPECT_TRUE(is_filled(0, 7));
}

TEST_F(RangeMoverTest, MovesInTheBackgroundAreWaitedFor) {
  constexpr std::uint64_t kSeed = 20261128;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  testing::SeededRandom random(kSeed);
  std::vector<unsigned> values(as_index(kSpacePages), 0);
  std::vector<bool> away(as_index(kSpacePages), false);
  for (int turn = 0; turn < 400; ++turn) {
    MoveList moves;
    for (int i = 0; i < 4; ++i) {
      const Bytes index = random.between<Bytes>(0, kSpacePages - 1);
      const bool was_away = away[as_index(index)];
      away[as_index(index)] = !was_away;
      moves.add({pages(index, index + 1), was_away ? kFileTier : kFastTier, was_away ? kFastTier : kFileTier});
    }
    mover_.begin(moves);
    const Bytes index = random.between<Bytes>(0, kSpacePages - 1);
    const Interval<Bytes> range = pages(index, index + 1);
    ASSERT_TRUE(mover_.wait_for(std::span(&range, 1)).ok());
    if (away[as_index(index)]) continue;
    ASSERT_TRUE(is_filled(index, values[as_index(index)])) << "turn " << turn << ", page " << index;
    values[as_index(index)] = static_cast<unsigned>(turn % 251);
    fill(index, values[as_index(index)]);
  }
  ASSERT_TRUE(mover_.drain().ok());
  EXPECT_LE(mover_.resident_bytes(), std::count(away.begin(), away.end(), false) * kMovedPage);
}

TEST_F(RangeMoverTest, AFailedMoveIsEveryLaterCallsError) {
  fill(0, 1);
  std::filesystem::resize_file(machine_.tiers[kFileTier].path, 0);
  const MoveList in = list({{pages(0, 1), kFileTier, kFastTier}});
  const Status failed = mover_.perform(in);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, ErrorCode::kIo);
  const Interval<Bytes> elsewhere = pages(20, 21);
  EXPECT_FALSE(mover_.wait_for(std::span(&elsewhere, 1)).ok());
  EXPECT_FALSE(mover_.perform(list({{pages(1, 2), kFastTier, kFileTier}})).ok());
}

TEST_F(RangeMoverTest, PagesThatCannotBeGivenBackAreAnError) {
  fill(0, 1);
  // A system that lets nobody lock memory has no such pages. Sanitizers make mlock() do nothing.
  if (::syscall(SYS_mlock, page(0), as_index(kMovedPage)) != 0) GTEST_SKIP() << "this process may not lock memory";
  const Status refused = mover_.perform(list({{pages(0, 1), kFastTier, kFileTier}}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_TRUE(is_filled(0, 1));
}

TEST(CheckMovable, TakesFilesAndMemoryNodes) {
  Machine machine = machine_with_file();
  EXPECT_TRUE(check_movable(machine).ok());
  machine.tiers[1].kind = TierKind::kNuma;
  EXPECT_TRUE(check_movable(machine).ok());
  machine.tiers[1].kind = TierKind::kPinned;
  EXPECT_EQ(check_movable(machine).error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace sluice::memory
