#include "sluice/memory/allocators/page_pool.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "sluice/base/as_index.hpp"

namespace sluice::memory {
namespace {

std::unique_ptr<PagePool> pool_of(Bytes addresses) {
  auto pool = PagePool::reserve(addresses);
  SLUICE_CHECK(pool.ok(), pool.error().message);
  return std::move(pool).value();
}

// Bytes of these pages that are in memory, as the kernel says.
Bytes resident_pages(const std::byte* begin, Bytes bytes) {
  constexpr Bytes kPage = 4096;
  std::vector<unsigned char> here(as_index(bytes / kPage));
  SLUICE_CHECK(::mincore(const_cast<std::byte*>(begin), as_index(bytes), here.data()) == 0, "mapped");
  Bytes pages = 0;
  for (const unsigned char each : here) pages += each & 1;
  return pages * kPage;
}

TEST(PagePoolTest, WhatIsGivenBackIsTakenAgain) {
  const auto pool = pool_of(kGiB);
  std::byte* const first = pool->take(5 * kMiB + 1);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 4096, 0U);
  EXPECT_EQ(pool->used(), 5 * kMiB + 4096);
  EXPECT_TRUE(pool->owns(first));
  EXPECT_FALSE(pool->owns(pool.get()));
  pool->give(first);
  EXPECT_EQ(pool->used(), 0);
  EXPECT_EQ(pool->take(4 * kMiB), first);
  EXPECT_EQ(pool->grown(), 6 * kMiB);
}

TEST(PagePoolTest, TheKernelHasBackWhatIsAboveTheLimit) {
  const auto pool = pool_of(kGiB);
  std::byte* const large = pool->take(64 * kMiB);
  std::memset(large, 1, 64 * kMiB);
  EXPECT_EQ(resident_pages(large, 64 * kMiB), 64 * kMiB);
  pool->set_limit(16 * kMiB);
  EXPECT_EQ(pool->resident(), 64 * kMiB) << "it is in use";
  pool->give(large);
  EXPECT_EQ(pool->resident(), 16 * kMiB);
  EXPECT_EQ(resident_pages(large, 64 * kMiB), 16 * kMiB);
}

TEST(PagePoolTest, WhatIsTakenLaterHasALargerNumber) {
  const auto pool = pool_of(kGiB);
  std::byte* const first = pool->take(3 * kMiB);
  std::byte* const second = pool->take(kMiB);
  EXPECT_EQ(pool->number_of(first), 1);
  EXPECT_EQ(pool->number_of(second), 2);
  EXPECT_EQ(pool->takes(), 2);
  EXPECT_EQ(pool->number_of(first + 4096), 0) << "nothing begins there";
  pool->give(first);
  EXPECT_EQ(pool->number_of(first), 0);
  EXPECT_EQ(pool->number_of(pool->take(3 * kMiB)), 3);
}

// Lines of /proc/self/maps that are within the pool.
int mappings_of(const PagePool& pool) {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) {
    count += pool.owns(reinterpret_cast<const void*>(std::stoull(line, nullptr, 16))) ? 1 : 0;
  }
  return count;
}

TEST(PagePoolTest, PagesThatMovedLeaveNoMappings) {
  const auto pool = pool_of(4 * kGiB);
  std::mt19937 random(1);
  std::vector<std::byte*> taken;
  for (int step = 0; step < 500; ++step) {
    if (step % 50 == 0) pool->set_limit(pool->held() + 8 * kMiB);
    const Bytes bytes = static_cast<Bytes>(1 + random() % 40) * 256 * kKiB;
    taken.push_back(pool->take(bytes));
    for (Bytes page = 0; page < bytes; page += 2 * kMiB) taken.back()[page] = std::byte{1};
    if (taken.size() < 12) continue;
    std::swap(taken[random() % taken.size()], taken.back());
    pool->give(taken.back());
    taken.pop_back();
  }
  for (std::byte* const each : taken) pool->give(each);
  pool->set_limit(0);
  EXPECT_LE(mappings_of(*pool), 1);
}

TEST(PagePoolTest, RemembersTheMostThatWasTaken) {
  const auto pool = pool_of(kGiB);
  std::byte* const kept = pool->take(kMiB);
  pool->give(pool->take(8 * kMiB));
  EXPECT_EQ(pool->peak_used(), 9 * kMiB);
  EXPECT_EQ(pool->peak_resident(), 10 * kMiB) << "in huge pages";
  pool->set_limit(2 * kMiB);
  pool->begin_peaks();
  EXPECT_EQ(pool->peak_used(), kMiB);
  EXPECT_EQ(pool->peak_resident(), 2 * kMiB);
  pool->give(kept);
}

// The second one's own memory begins in the huge page in which the first one ends, and the third one's is made of both.
TEST(PagePoolTest, NoFreshMemoryIsTakenWhereOldOneDoes) {
  const auto pool = pool_of(kGiB);
  std::byte* const first = pool->take(3 * kMiB);
  std::byte* const second = pool->take(5 * kMiB);
  EXPECT_EQ(second, first + 3 * kMiB);
  EXPECT_EQ(pool->grown(), 8 * kMiB);
  std::byte* const between = pool->take(2 * kMiB);
  std::byte* const last = pool->take(16 * kMiB);
  pool->give(first);
  pool->give(second);
  pool->give(last);
  EXPECT_EQ(pool->grown(), 26 * kMiB);
  std::byte* const third = pool->take(24 * kMiB);
  EXPECT_EQ(pool->grown(), 26 * kMiB);
  std::memset(third, 1, 24 * kMiB);
  EXPECT_EQ(resident_pages(third, 24 * kMiB), 24 * kMiB);
  EXPECT_EQ(pool->resident(), 26 * kMiB);
  pool->give(between);
}

TEST(PagePoolTest, WhatIsBetweenTensorsInAHugePageIsHeldAndWhatIsKeptIsNot) {
  const auto pool = pool_of(kGiB);
  std::byte* const first = pool->take(kMiB);
  std::byte* const second = pool->take(kMiB / 2);
  std::byte* const large = pool->take(8 * kMiB);
  EXPECT_EQ(pool->held(), pool->resident());
  pool->give(large);
  EXPECT_EQ(pool->used(), kMiB + kMiB / 2);
  EXPECT_EQ(pool->held(), 2 * kMiB);
  EXPECT_EQ(pool->resident(), 10 * kMiB);
  pool->set_limit(0);
  EXPECT_EQ(pool->resident(), pool->held());
  pool->give(first);
  EXPECT_EQ(pool->held(), 2 * kMiB) << "the other one is in the same huge page";
  pool->give(second);
  EXPECT_EQ(pool->held(), 0);
}

TEST(PagePoolTest, SaysWhenNoAddressIsLeft) {
  const auto pool = pool_of(8 * kMiB);
  std::byte* const all = pool->take(8 * kMiB);
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(pool->take(1), nullptr);
  pool->give(all);
  EXPECT_NE(pool->take(1), nullptr);
}

// Tensors keep what was written into them, whatever is taken, given back and released around them.
TEST(PagePoolTest, NothingIsHandedOutTwice) {
  const unsigned seed = 20261127;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const auto pool = pool_of(4 * kGiB);
  pool->set_limit(96 * kMiB);
  std::map<std::byte*, Bytes> taken;
  Bytes used = 0;
  for (int round = 0; round < 2000; ++round) {
    if (used < 64 * kMiB && random() % 2 == 0) {
      const Bytes bytes = 1 + static_cast<Bytes>(random() % (12 * kMiB));
      std::byte* const pages = pool->take(bytes);
      ASSERT_NE(pages, nullptr);
      std::memset(pages, static_cast<int>(bytes % 251), as_index(bytes));
      ASSERT_TRUE(taken.emplace(pages, bytes).second);
      used += bytes;
    } else if (!taken.empty()) {
      const auto which = std::next(taken.begin(), static_cast<long>(random() % taken.size()));
      const auto [pages, bytes] = *which;
      for (Bytes at = 0; at < bytes; at += 4093) {
        ASSERT_EQ(pages[at], static_cast<std::byte>(bytes % 251)) << round;
      }
      taken.erase(which);
      used -= bytes;
      pool->give(pages);
    }
    ASSERT_LE(pool->resident(), 96 * kMiB);
  }
}

}  // namespace
}  // namespace sluice::memory
