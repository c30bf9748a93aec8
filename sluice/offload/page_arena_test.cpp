#include "sluice/offload/page_arena.hpp"

#include <gtest/gtest.h>

#include "sluice/memory/machine.hpp"

namespace sluice {
namespace {

TEST(PageArenaTest, HandsOutWholePagesUntilItIsFull) {
  const auto arena = PageArena::map(3 * kTensorAlignment).value();
  std::byte* const first = arena->take(1);
  std::byte* const second = arena->take(kTensorAlignment + 1);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(second, first + kTensorAlignment);
  EXPECT_EQ(arena->take(1), nullptr);
  arena->give(first, 1);
  EXPECT_EQ(arena->take(kTensorAlignment), first);
  arena->give(second, kTensorAlignment + 1);
  EXPECT_EQ(arena->take(2 * kTensorAlignment), second);
}

}  // namespace
}  // namespace sluice
