#include "sluice/measure/cache_flush.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace sluice {
namespace {

// Whether a line has left the caches cannot be seen without a clock, and a clock sees whatever else the machine does.
// So this counts the lines that are flushed; what the instruction does to a line is the processor's business.
TEST(CacheFlushTest, FlushesEveryLineOfARangeOnce) {
  constexpr Bytes kLines = 10000;
  std::vector<std::byte> memory((kLines + 1) * kCacheLine);
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  const std::byte* aligned = memory.data() + (kCacheLine - static_cast<Bytes>(address) % kCacheLine) % kCacheLine;
  struct Range {
    Bytes begin, bytes, first_line, lines;
  };
  for (const Range& range : {Range{0, kLines * kCacheLine, 0, kLines}, Range{5, kCacheLine, 0, 2}, Range{63, 1, 0, 1},
                             Range{64, 64, 1, 1}, Range{100, 0, 0, 0}, Range{63, 66, 0, 3}}) {
    SCOPED_TRACE(::testing::Message() << range.begin << " + " << range.bytes);
    std::vector<int> flushed(kLines + 1);
    for_each_line(aligned + range.begin, range.bytes, [&](const std::byte* line) {
      ASSERT_EQ((line - aligned) % kCacheLine, 0);
      ++flushed[static_cast<std::size_t>((line - aligned) / kCacheLine)];
    });
    for (Bytes line = 0; line <= kLines; ++line) {
      const bool within = line >= range.first_line && line < range.first_line + range.lines;
      ASSERT_EQ(flushed[static_cast<std::size_t>(line)], within ? 1 : 0) << "line " << line;
    }
  }
}

TEST(CacheFlushTest, KeepsContentsAndTakesAnyRange) {
  std::vector<std::byte> bytes(1000003, std::byte{7});
  flush_from_caches(bytes.data() + 5, 1000001 - 5, 2);
  flush_from_caches(bytes.data(), 0, 2);
  EXPECT_EQ(bytes, std::vector<std::byte>(1000003, std::byte{7}));
}

}  // namespace
}  // namespace sluice
