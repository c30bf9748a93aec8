#include "sluice/exec/measure/cache_flush.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <vector>

namespace sluice {
namespace {

TEST(CacheFlushTest, TheNextReadGoesToMemory) {
  std::vector<std::int64_t> values(32 * kKiB, 1);
  const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
  const auto size = static_cast<Bytes>(values.size() * sizeof(values[0]));
  const auto best_read = [&](bool flushed) {
    Seconds best = 1;
    for (int i = 0; i < 50; ++i) {
      if (flushed) flush_from_caches(bytes, size, 1);
      const auto start = std::chrono::steady_clock::now();
      EXPECT_EQ(std::accumulate(values.begin(), values.end(), std::int64_t{0}), 32 * kKiB);
      best = std::min(best, std::chrono::duration<Seconds>(std::chrono::steady_clock::now() - start).count());
    }
    return best;
  };
  const Seconds warm = best_read(false);
  EXPECT_GT(best_read(true), 1.2 * warm);
}

TEST(CacheFlushTest, KeepsContentsAndTakesAnyRange) {
  std::vector<std::byte> bytes(1000003, std::byte{7});
  flush_from_caches(bytes.data() + 5, 1000001 - 5, 2);
  flush_from_caches(bytes.data(), 0, 2);
  EXPECT_EQ(bytes, std::vector<std::byte>(1000003, std::byte{7}));
}

}  // namespace
}  // namespace sluice
