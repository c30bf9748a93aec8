#include "sluice/memory/observe/chunk_queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace sluice::memory {
namespace {

TEST(ChunkQueue, EntriesLeaveInTheOrderTheyCame) {
  ChunkQueue queue(3);  // rounded up to 4 slots
  for (std::uint64_t round = 0; round < 10; ++round) {
    for (std::uint64_t entry = 0; entry < 4; ++entry) queue.push(10 * round + entry);
    for (std::uint64_t entry = 0; entry < 4; ++entry) EXPECT_EQ(queue.pop(), 10 * round + entry);
    EXPECT_FALSE(queue.pop());
  }
}

// Who has pushed finds something to pop, though others lose the processor in the middle of a push or a pop.
TEST(ChunkQueue, WhatWasPushedCanBePoppedWhoeverStopsRunning) {
  constexpr int kThreads = 8;
  constexpr std::uint64_t kRounds = 50000;
  ChunkQueue queue(kThreads);
  std::atomic<std::uint64_t> sum{0};
  std::atomic<int> empty_handed{0};
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&] {
        for (std::uint64_t entry = 1; entry <= kRounds; ++entry) {
          queue.push(entry);
          if (const auto popped = queue.pop()) {
            sum.fetch_add(*popped);
          } else {
            empty_handed.fetch_add(1);
          }
        }
      });
    }
  }
  EXPECT_EQ(empty_handed, 0);
  EXPECT_EQ(sum, kThreads * kRounds * (kRounds + 1) / 2);
  EXPECT_FALSE(queue.pop());
}

}  // namespace
}  // namespace sluice::memory
