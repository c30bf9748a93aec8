#include "sluice/experiment/process_memory.hpp"

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

}  // namespace
}  // namespace sluice
