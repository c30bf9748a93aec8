#include "sluice/memory/process_memory.hpp"

#include <gtest/gtest.h>

#include "sluice/memory/arena.hpp"

namespace sluice {
namespace {

// 64 MiB, mapped at four more places.
TEST(ProcessMemory, CountsStitchedMemoryOnce) {
  constexpr Bytes kBytes = 64 * kMiB;
  const Bytes before = peak_resident_bytes();
  if (before == 0) GTEST_SKIP() << "no /proc";
  std::vector<Stitch> stitches;
  for (Bytes i = 1; i <= 4; ++i) stitches.push_back({i * kBytes, {{0, kBytes}}});
  const auto arena = Arena::map_stitched(kBytes, stitches, "dram");
  ASSERT_TRUE(arena.ok()) << arena.error().message;
  const Bytes more = peak_resident_bytes() - before;
  EXPECT_LT(more, kBytes + kBytes / 2);
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
  EXPECT_LT(peak_resident_bytes() - before, kBytes + kBytes / 2);
}

}  // namespace
}  // namespace sluice
