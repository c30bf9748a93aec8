#include "sluice/memory/process_memory.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <vector>

#include "sluice/base/sanitized.hpp"
#include "sluice/memory/arena.hpp"

namespace sluice::memory {
namespace {

// The address sanitizer's own: a byte for every eight of what is mapped, here five times `bytes`.
Bytes shadow_of(Bytes bytes) { return kAddressSanitizer ? 5 * bytes / 8 : 0; }

// 64 MiB, mapped at four more places.
TEST(ProcessMemory, CountsStitchedMemoryOnce) {
  constexpr Bytes kBytes = 64 * kMiB;
  count_peak_anew();  // other tests of this process may have stitched more
  const Bytes before = peak_resident_bytes();
  if (before == 0) GTEST_SKIP() << "no /proc";
  std::vector<Stitch> stitches;
  for (Bytes i = 1; i <= 4; ++i) stitches.push_back({i * kBytes, {{0, kBytes}}});
  const auto arena = Arena::map_stitched(kBytes, stitches, "dram");
  ASSERT_TRUE(arena.ok()) << arena.error().message;
  const Bytes more = peak_resident_bytes() - before;
  EXPECT_LT(more, kBytes + kBytes / 2 + shadow_of(kBytes));
  EXPECT_GT(more, 0);
}

// The same gone, and 16 MiB more in its place: the peak is that of the greater, counted once.
TEST(ProcessMemory, APeakBeforeIsKept) {
  constexpr Bytes kBytes = 64 * kMiB;
  const Bytes before = peak_resident_bytes();
  if (before == 0) GTEST_SKIP() << "no /proc";
  Bytes while_there = 0;
  {
    std::vector<Stitch> stitches;
    for (Bytes i = 1; i <= 4; ++i) stitches.push_back({i * kBytes, {{0, kBytes}}});
    const auto arena = Arena::map_stitched(kBytes, stitches, "dram");
    ASSERT_TRUE(arena.ok()) << arena.error().message;
    while_there = peak_resident_bytes();
    keep_peak_resident();
  }
  count_peak_anew();
  const std::vector<Stitch> few{{16 * kMiB, {{0, kMiB}}}};
  const auto smaller = Arena::map_stitched(16 * kMiB, few, "dram");
  ASSERT_TRUE(smaller.ok()) << smaller.error().message;
  EXPECT_GE(peak_resident_bytes(), while_there);
  EXPECT_LT(peak_resident_bytes() - before, kBytes + kBytes / 2 + shadow_of(kBytes));
}

// Blocks below one that is still used: the allocator alone gives none of them back.
TEST(ProcessMemory, WhatWasFreedIsReturned) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer has an allocator of its own";
#endif
  std::vector<std::unique_ptr<char[]>> blocks;
  for (int i = 0; i < 512; ++i) {
    blocks.push_back(std::make_unique<char[]>(64 * 1024));
    blocks.back()[0] = 1;
  }
  const std::unique_ptr<char[]> last = std::move(blocks.back());
  blocks.clear();
  const auto resident_pages = [] {
    std::int64_t all = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> all >> resident;
    return resident;
  };
  const std::int64_t before = resident_pages();
  if (before == 0) GTEST_SKIP() << "no /proc";
  return_free_memory();
  EXPECT_LT(resident_pages(), before - 16 * kMiB / ::sysconf(_SC_PAGESIZE));
}

}  // namespace
}  // namespace sluice::memory
