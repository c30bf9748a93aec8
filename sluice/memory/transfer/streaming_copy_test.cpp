#include "sluice/memory/transfer/streaming_copy.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "sluice/memory/arena.hpp"

namespace sluice::memory {
namespace {

class Copy : public ::testing::TestWithParam<CopyFunction> {};

TEST_P(Copy, CopiesExactlyTheRange) {
  const Arena arena = Arena::map(4 * kMiB, "dram").value();
  std::byte* const from = arena.data();
  std::byte* const to = arena.data() + 2 * kMiB;
  for (Bytes i = 0; i < kMiB; ++i) from[i] = static_cast<std::byte>(i * 31 >> 3);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{256}, std::size_t{4096}, std::size_t{1 << 20}}) {
    std::memset(to, 0x77, 2 << 20);
    GetParam()(to + 4096, from, bytes);
    EXPECT_EQ(std::memcmp(to + 4096, from, bytes), 0) << bytes;
    EXPECT_EQ(to[4095], std::byte{0x77});
    EXPECT_EQ(to[4096 + bytes], std::byte{0x77}) << bytes;
  }
}

INSTANTIATE_TEST_SUITE_P(PastAndThroughTheCaches, Copy, ::testing::Values(streaming_copy, cached_copy));

TEST(StreamingCopy, NamesWhatItUses) {
  const std::string_view name = streaming_copy_name();
#if defined(__x86_64__)
  EXPECT_EQ(name == "avx512", __builtin_cpu_supports("avx512f") != 0);
  EXPECT_NE(name, "memcpy");
#else
  EXPECT_EQ(name, "memcpy");
#endif
}

}  // namespace
}  // namespace sluice::memory
