#include "sluice/memory/transfer/shared_copy_engine.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "sluice/base/as_index.hpp"
#include "sluice/base/random.hpp"

namespace sluice::memory {
namespace {

void on_two_threads(std::int64_t count, const std::function<void(std::int64_t)>& body) {
  std::jthread other([&] {
    for (std::int64_t i = 1; i < count; i += 2) body(i);
  });
  for (std::int64_t i = 0; i < count; i += 2) body(i);
}

constexpr Bytes kSharedRoom = 16 * kMiB;

struct alignas(64) Line {
  std::byte bytes[64];
};

// Two memories, and an engine from one to the other.
struct TwoMemories {
  std::vector<Line> from{kSharedRoom / 64}, to{kSharedRoom / 64};
  SharedCopyEngine engine{from.front().bytes, to.front().bytes, streaming_copy};

  TwoMemories() {
    for (std::size_t i = 0; i < from.size(); ++i) {
      for (std::size_t byte = 0; byte < 64; ++byte) from[i].bytes[byte] = static_cast<std::byte>(i * 7 + byte);
    }
  }
  std::vector<FinishedTransfer> wait(Seconds deadline) {
    std::vector<FinishedTransfer> finished;
    engine.wait(deadline, finished);
    return finished;
  }
  bool same(Bytes bytes) const { return std::memcmp(from.front().bytes, to.front().bytes, as_index(bytes)) == 0; }
};

TEST(SharedCopyEngine, TheComputeThreadsCopyWhatIsDue) {
  TwoMemories memories;
  memories.engine.expect_help(true);
  memories.engine.submit(3, 0, 0, 5 * kMiB);
  memories.engine.submit(4, 5 * kMiB, 5 * kMiB, 4 * kKiB);
  memories.engine.help(on_two_threads);
  EXPECT_TRUE(memories.same(5 * kMiB + 4 * kKiB));
  EXPECT_EQ(memories.engine.in_flight(), 2) << "not reported yet";
  EXPECT_EQ(memories.wait(1).size(), 2U);
  EXPECT_EQ(memories.engine.in_flight(), 0);
}

TEST(SharedCopyEngine, TheLaneWaitsForHelpOnlySoLong) {
  TwoMemories memories;
  memories.engine.expect_help(true);
  const auto begin = Clock::now();
  memories.engine.submit(1, 0, 0, kSharedRoom);
  const auto finished = memories.wait(10);
  ASSERT_EQ(finished.size(), 1U);
  EXPECT_EQ(finished[0].transfer, 1);
  EXPECT_TRUE(memories.same(kSharedRoom));
  EXPECT_GE(std::chrono::duration<Seconds>(Clock::now() - begin).count(), SharedCopyEngine::kPatience);
}

TEST(SharedCopyEngine, ADeadlineEndsTheWaitForHelp) {
  TwoMemories memories;
  memories.engine.expect_help(true);
  memories.engine.submit(1, 0, 0, kMiB);
  EXPECT_TRUE(memories.wait(SharedCopyEngine::kPatience / 100).empty());
}

TEST(SharedCopyEngine, NobodyIsWaitedForWhoIsNotExpected) {
  TwoMemories memories;
  memories.engine.expect_help(true);
  memories.engine.expect_help(false);
  memories.engine.submit(1, 0, 0, kMiB);
  EXPECT_EQ(memories.wait(SharedCopyEngine::kPatience).size(), 1U);
}

TEST(SharedCopyEngine, HelpWithNothingDueDoesNothing) {
  TwoMemories memories;
  memories.engine.help(on_two_threads);
  EXPECT_TRUE(memories.wait(0).empty());
}

TEST(SharedCopyEngine, WithAProcessorOfItsOwnTheLaneCopiesAtOnce) {
  TwoMemories memories;
  SharedCopyEngine alone(memories.from.front().bytes, memories.to.front().bytes, cached_copy, false);
  alone.expect_help(true);
  alone.submit(1, 0, 0, kMiB);
  alone.help(on_two_threads);
  EXPECT_FALSE(memories.same(kMiB));
  std::vector<FinishedTransfer> finished;
  alone.wait(SharedCopyEngine::kPatience / 2, finished);
  EXPECT_EQ(finished.size(), 1U);
}

// 2 MiB at 100 MB/s, whoever copies them; both are back no sooner, and the bytes are there.
TEST(SharedCopyEngine, CopiesOfEmulatedMemoryHoldTheirMakers) {
  constexpr BytesPerSecond kBandwidth = 100e6;
  constexpr Seconds kHeld = 2 * kMiB / kBandwidth;
  TwoMemories memories;
  SharedCopyEngine emulated(memories.from.front().bytes, memories.to.front().bytes, cached_copy, true, kBandwidth);
  std::vector<FinishedTransfer> finished;
  emulated.expect_help(true);
  emulated.submit(0, 0, 0, 2 * kMiB);
  const auto help_begin = Clock::now();
  emulated.help(on_two_threads);
  EXPECT_GE(Clock::now() - help_begin, to_duration(kHeld));
  EXPECT_TRUE(memories.same(2 * kMiB));
  emulated.expect_help(false);
  emulated.submit(1, 2 * kMiB, 2 * kMiB, 2 * kMiB);
  const auto wait_begin = Clock::now();
  while (emulated.in_flight() > 0) emulated.wait(std::nullopt, finished);
  EXPECT_GE(Clock::now() - wait_begin, to_duration(kHeld));
  EXPECT_TRUE(memories.same(4 * kMiB));
}

// Lane and compute thread copy at the same time, whole transfers and parts, under one transfer's name and several.
TEST(SharedCopyEngine, BothMayCopyAtOnce) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    TwoMemories memories;
    memories.engine.expect_help(seed % 2 == 0);
    std::size_t reported = 0;
    std::atomic<bool> done{false};
    std::thread lane([&] {
      Bytes at = 0;
      std::size_t submitted = 0;
      for (std::uint64_t i = 0; at < kSharedRoom; ++i, ++submitted) {
        const Bytes bytes = std::min(kSharedRoom - at,
                                     align_up(static_cast<Bytes>(random_bits(seed, 0, i) % (3 * kMiB)) + 1, 4 * kKiB));
        memories.engine.submit(static_cast<TransferId>(i / 2), at, at, bytes);
        at += bytes;
        reported += memories.wait(1e-4).size();
      }
      while (memories.engine.in_flight() > 0) reported += memories.wait(1e-3).size();
      EXPECT_EQ(reported, submitted);
      done = true;
    });
    while (!done) memories.engine.help(on_two_threads);
    lane.join();
    EXPECT_TRUE(memories.same(kSharedRoom));
  }
}

}  // namespace
}  // namespace sluice::memory
