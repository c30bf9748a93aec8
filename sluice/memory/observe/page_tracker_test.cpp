// Counts against a reference: the same touches through a FIFO written in the plainest way.
#include "sluice/memory/observe/page_tracker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cstdlib>
#include <deque>
#include <map>
#include <thread>

#include "sluice/base/random.hpp"
#include "sluice/memory/arena.hpp"

namespace sluice::memory {
namespace {

using ::testing::HasSubstr;

constexpr Bytes kTrackedPage = kSmallestChunk;

struct Touch {
  Bytes offset = 0;
  bool write = false;
};

// Threads race for the same byte on purpose.
__attribute__((no_sanitize("thread"))) void perform(std::byte* memory, const Touch& touch) {
  volatile std::byte* const at = memory + touch.offset;
  if (touch.write) {
    *at = std::byte{1};
  } else {
    (void)*at;
  }
}

// A FIFO TLB over chunks: what PageTracker promises, one touch at a time.
class ReferenceTlb {
 public:
  ReferenceTlb(Bytes reach, Bytes range, Bytes chunk) : reach_(reach), range_(range), chunk_(chunk) {}

  void touch(const Touch& touch) {
    const Bytes chunk = touch.offset / chunk_;
    const auto [entry, missed] = written_.try_emplace(chunk, false);
    if (missed || (touch.write && !entry->second))
      (touch.write ? counts.writes : counts.reads) += bytes(chunk) / kTrackedPage;
    entry->second |= touch.write;
    if (!missed) return;
    order_.push_back(chunk);
    for (held_ += bytes(chunk); held_ > reach_; order_.pop_front()) {
      held_ -= bytes(order_.front());
      written_.erase(order_.front());
    }
  }

  PageTouches counts;

 private:
  Bytes bytes(Bytes chunk) const { return std::min(chunk_, range_ - chunk * chunk_); }

  Bytes reach_, range_, chunk_;
  Bytes held_ = 0;
  std::deque<Bytes> order_;
  std::map<Bytes, bool> written_;  // chunks held, and whether they are open for writing
};

struct Memory {
  explicit Memory(Bytes bytes) : arena(Arena::map(bytes, "test").value()) { arena.prefault(1); }
  Arena arena;
};

std::unique_ptr<PageTracker> start(Bytes reach, int threads = 1) {
  auto tracker = PageTracker::start({.reach = reach, .threads = threads, .most_ranges = 64, .most_watched = 8});
  EXPECT_TRUE(tracker.ok()) << tracker.error().message;
  return std::move(tracker).value();
}

PageTouches count(const std::vector<Touch>& touches, Bytes reach, Bytes range_bytes, Bytes chunk) {
  Memory memory(range_bytes);
  const auto tracker = start(reach);
  const auto range = *tracker->add_range(memory.arena.data(), range_bytes, chunk);
  EXPECT_TRUE(tracker->watch(range).ok());
  for (const Touch& touch : touches) perform(memory.arena.data(), touch);
  tracker->unwatch(range);
  EXPECT_TRUE(tracker->complete());
  return tracker->take_counts(range);
}

void expect_as_reference(const std::vector<Touch>& touches, Bytes reach, Bytes range_bytes, Bytes chunk) {
  ReferenceTlb reference(reach, range_bytes, chunk);
  for (const Touch& touch : touches) reference.touch(touch);
  const PageTouches counted = count(touches, reach, range_bytes, chunk);
  EXPECT_EQ(counted.reads, reference.counts.reads);
  EXPECT_EQ(counted.writes, reference.counts.writes);
  EXPECT_GT(counted.reads + counted.writes, 0);
}

constexpr Bytes kRange = 100 * kTrackedPage;
constexpr Bytes kReach = 16 * kTrackedPage;

std::vector<Touch> sweep(Bytes stride, int rounds, bool write) {
  std::vector<Touch> touches;
  for (int round = 0; round < rounds; ++round) {
    for (Bytes offset = 0; offset < kRange; offset += stride) touches.push_back({offset, write});
  }
  return touches;
}

TEST(PageTracker, CountsSweepsAsTheReference) {
  for (const Bytes stride : {Bytes{512}, kTrackedPage, 3 * kTrackedPage + 64}) {
    for (const bool write : {false, true}) {
      SCOPED_TRACE(std::to_string(stride) + (write ? " write" : " read"));
      expect_as_reference(sweep(stride, 3, write), kReach, kRange, kTrackedPage);
    }
  }
}

TEST(PageTracker, ASweepReadsEveryPageOnce) {
  const PageTouches counted = count(sweep(64, 1, false), kReach, kRange, kTrackedPage);
  EXPECT_EQ(counted, (PageTouches{.reads = 100, .writes = 0}));
}

TEST(PageTracker, WhatFitsTheReachIsCountedOnce) {
  const PageTouches counted = count(sweep(kTrackedPage, 5, true), kRange, kRange, kTrackedPage);
  EXPECT_EQ(counted, (PageTouches{.reads = 0, .writes = 100}));
}

TEST(PageTracker, AReadThenAWriteAreOneOfEach) {
  const PageTouches counted =
      count({{0, false}, {8, true}, {16, false}, {24, true}, {kTrackedPage, true}, {kTrackedPage, false}}, kReach,
            kRange, kTrackedPage);
  EXPECT_EQ(counted, (PageTouches{.reads = 1, .writes = 2}));
}

TEST(PageTracker, CountsRandomTouchesAsTheReference) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::vector<Touch> touches;
    for (std::uint64_t i = 0; i < 3000; ++i) {
      touches.push_back({static_cast<Bytes>(random_bits(seed, 0, i) % static_cast<std::uint64_t>(kRange)),
                         random_bits(seed, 1, i) % 3 == 0});
    }
    const Bytes chunk = kTrackedPage << (seed % 3);
    expect_as_reference(touches, std::max(kReach, 8 * chunk) + static_cast<Bytes>(seed) * kTrackedPage, kRange, chunk);
  }
}

TEST(PageTracker, AChunkCountsItsPagesAndTheLastOneOnlyWhatItHas) {
  const PageTouches counted =
      count({{0, false}, {99 * kTrackedPage, true}}, 64 * kTrackedPage, kRange, 8 * kTrackedPage);
  EXPECT_EQ(counted, (PageTouches{.reads = 8, .writes = 4}));
}

TEST(PageTracker, TracksLargeRangesInChunks) {
  EXPECT_EQ(PageTracker::chunk_of(kTrackedPage, 64 * kTrackedPage), kTrackedPage);
  EXPECT_EQ(PageTracker::chunk_of(31 * kTrackedPage, 64 * kTrackedPage), kTrackedPage);
  EXPECT_EQ(PageTracker::chunk_of(32 * kTrackedPage, 64 * kTrackedPage), 2 * kTrackedPage);
  EXPECT_EQ(PageTracker::chunk_of(100 * kTrackedPage, 64 * kTrackedPage), 4 * kTrackedPage);
  EXPECT_EQ(PageTracker::chunk_of(5000 * kTrackedPage, 64 * kTrackedPage), 64 * kTrackedPage);
}

TEST(PageTracker, RefusesChunksThatLeaveNoRoomForOthers) {
  EXPECT_TRUE(PageTracker::check_chunk(4 * kTrackedPage, 64 * kTrackedPage, 2).ok());
  for (const Bytes bad : {Bytes{0}, Bytes{-4096}, kTrackedPage / 2, 3 * kTrackedPage, 8 * kTrackedPage}) {
    EXPECT_FALSE(PageTracker::check_chunk(bad, 64 * kTrackedPage, 2).ok()) << bad;
  }
}

TEST(PageTracker, TheTlbKeepsWhatItHoldsWhileTheRangeIsNotWatched) {
  Memory memory(kRange);
  const auto tracker = start(kReach);
  const auto range = *tracker->add_range(memory.arena.data(), kRange, kTrackedPage);
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(tracker->watch(range).ok());
    for (Bytes page = 0; page < 10; ++page) perform(memory.arena.data(), {page * kTrackedPage, false});
    tracker->unwatch(range);
    for (Bytes page = 0; page < 100; ++page) perform(memory.arena.data(), {page * kTrackedPage, true});  // not counted
  }
  EXPECT_EQ(tracker->take_counts(range), (PageTouches{.reads = 10, .writes = 0}));
}

TEST(PageTracker, RangesShareTheReach) {
  Memory memory(kRange);
  const auto tracker = start(kReach);
  const auto first = *tracker->add_range(memory.arena.data(), 16 * kTrackedPage, kTrackedPage);
  const auto second = *tracker->add_range(memory.arena.data() + 16 * kTrackedPage, 16 * kTrackedPage, kTrackedPage);
  ASSERT_TRUE(tracker->watch(first).ok());
  ASSERT_TRUE(tracker->watch(second).ok());
  for (int round = 0; round < 2; ++round) {
    for (Bytes page = 0; page < 32; ++page) perform(memory.arena.data(), {page * kTrackedPage, false});
  }
  EXPECT_EQ(tracker->take_counts(first).reads, 32);
  EXPECT_EQ(tracker->take_counts(second).reads, 32);
  EXPECT_EQ(tracker->take_counts(second).reads, 0) << "taken already";
}

TEST(PageTracker, WhatASystemCallFillsIsCountedAndHeld) {
  Memory memory(kRange);
  const auto tracker = start(kReach);
  const auto range = *tracker->add_range(memory.arena.data(), 20 * kTrackedPage, kTrackedPage);
  tracker->count_written(range);
  EXPECT_EQ(tracker->take_counts(range).writes, 20);
  ASSERT_TRUE(tracker->watch(range).ok());
  perform(memory.arena.data(), {19 * kTrackedPage, true});  // held
  perform(memory.arena.data(), {4 * kTrackedPage, false});  // held
  EXPECT_EQ(tracker->take_counts(range), (PageTouches{}));
  perform(memory.arena.data(), {0, false});  // left
  EXPECT_EQ(tracker->take_counts(range), (PageTouches{.reads = 1, .writes = 0}));
}

TEST(PageTracker, LeavesTheBytesAsTheyWere) {
  Memory memory(kRange);
  for (Bytes i = 0; i < kRange; ++i) memory.arena.data()[i] = static_cast<std::byte>(random_bits(1, 2, i));
  const auto tracker = start(kReach);
  const auto range = *tracker->add_range(memory.arena.data(), kRange, kTrackedPage);
  ASSERT_TRUE(tracker->watch(range).ok());
  int different = 0;
  for (Bytes i = 0; i < kRange; ++i)
    different += memory.arena.data()[i] != static_cast<std::byte>(random_bits(1, 2, i));
  EXPECT_EQ(different, 0);
}

void run_together(int threads, const std::function<void(int)>& body) {
  std::barrier begin(threads);
  std::vector<std::jthread> workers;
  for (int thread = 0; thread < threads; ++thread) {
    workers.emplace_back([&, thread] {
      begin.arrive_and_wait();
      body(thread);
    });
  }
}

// Two threads sweep memory of their own, larger than the reach, the first reading and the second writing.
PageTouches count_two_sweeps(int rounds, Bytes pages) {
  const Bytes each = pages * kTrackedPage;
  Memory memory(2 * each);
  const auto tracker = start(kReach, 2);
  const auto range = *tracker->add_range(memory.arena.data(), 2 * each, kTrackedPage);
  EXPECT_TRUE(tracker->watch(range).ok());
  run_together(2, [&](int thread) {
    for (int round = 0; round < rounds; ++round) {
      for (Bytes page = 0; page < pages; ++page) {
        perform(memory.arena.data(), {thread * each + page * kTrackedPage, thread == 1});
      }
    }
  });
  return tracker->take_counts(range);
}

// Every touch misses, however the threads take turns. A thread that loses the processor while it closes a page leaves
// the page open to the other one for as long, so on a busy machine the best of a few sweeps counts.
TEST(PageTracker, TwoThreadsWithMemoryOfTheirOwnAreCountedWithinAPercent) {
  constexpr Bytes kPages = 64;
  constexpr int kRounds = 20;
  constexpr int kAttempts = 5;
  constexpr std::int64_t kExpected = kPages * kRounds;
  std::int64_t furthest = kExpected;
  for (int attempt = 0; attempt < kAttempts && furthest > kExpected / 100; ++attempt) {
    const PageTouches counted = count_two_sweeps(kRounds, kPages);
    furthest = std::max(std::abs(kExpected - counted.reads), std::abs(kExpected - counted.writes));
  }
  EXPECT_LE(furthest, kExpected / 100);
}

// All threads race for the same pages, which fit the reach: each page is read once and written once, whoever wins.
TEST(PageTracker, ThreadsThatRaceForTheSamePagesAreCountedOnce) {
  constexpr int kThreads = 4;
  for (int round = 0; round < 20; ++round) {
    Memory memory(kRange);
    const auto tracker = start(kRange, kThreads);
    const auto range = *tracker->add_range(memory.arena.data(), kRange, kTrackedPage);
    ASSERT_TRUE(tracker->watch(range).ok());
    for (const bool write : {false, true}) {
      run_together(kThreads, [&](int) {
        for (Bytes page = 0; page < 100; ++page) perform(memory.arena.data(), {page * kTrackedPage, write});
      });
    }
    EXPECT_EQ(tracker->take_counts(range), (PageTouches{.reads = 100, .writes = 100}));
  }
}

// Threads that race for pages beyond the reach lose no write, and no page is left closed or open by mistake.
TEST(PageTracker, SurvivesThreadsThatRaceBeyondTheReach) {
  constexpr int kThreads = 4;
  constexpr int kSteps = 4000;
  Memory memory(kRange);
  const auto tracker = start(32 * kTrackedPage, kThreads);
  const auto range = *tracker->add_range(memory.arena.data(), kRange, kTrackedPage);
  ASSERT_TRUE(tracker->watch(range).ok());
  run_together(kThreads, [&](int thread) {
    for (int step = 0; step < kSteps; ++step) {
      const auto page = random_bits(7, static_cast<std::uint64_t>(thread), static_cast<std::uint64_t>(step)) % 100;
      auto& counter = reinterpret_cast<std::atomic<int>*>(memory.arena.data() + page * kTrackedPage)[thread];
      counter.fetch_add(1);
    }
  });
  EXPECT_TRUE(tracker->complete());
  const PageTouches counted = tracker->take_counts(range);
  EXPECT_GT(counted.writes, kSteps);
  EXPECT_LE(counted.writes, kThreads * kSteps);
  tracker->unwatch(range);
  int sum = 0;
  for (Bytes page = 0; page < 100; ++page) {
    for (int thread = 0; thread < kThreads; ++thread) {
      sum += reinterpret_cast<std::atomic<int>*>(memory.arena.data() + page * kTrackedPage)[thread].load();
    }
  }
  EXPECT_EQ(sum, kThreads * kSteps);
}

TEST(PageTracker, RefusesAReachOutOfRange) {
  const auto small = PageTracker::start({.reach = 4 * kTrackedPage, .threads = 1});
  ASSERT_FALSE(small.ok());
  EXPECT_THAT(small.error().message, HasSubstr("at least 32.0 KiB"));
  const auto large = PageTracker::start({.reach = 64 * kGiB, .threads = 1});
  ASSERT_FALSE(large.ok());
  EXPECT_THAT(large.error().message, HasSubstr("max_map_count"));
}

TEST(PageTracker, IsOneAtATime) {
  auto first = start(kReach);
  const auto second = PageTracker::start({.reach = kReach});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kUnsupported);
  first.reset();
  start(kReach);
}

TEST(PageTracker, RefusesMoreRangesThanItHasRoomFor) {
  Memory memory(kRange);
  const auto tracker = PageTracker::start({.reach = kReach, .threads = 1, .most_ranges = 1, .most_watched = 1});
  ASSERT_TRUE(tracker.ok());
  ASSERT_TRUE((*tracker)->add_range(memory.arena.data(), kTrackedPage, kTrackedPage).ok());
  const auto second = (*tracker)->add_range(memory.arena.data(), kTrackedPage, kTrackedPage);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kBadInput);
}

}  // namespace
}  // namespace sluice::memory
