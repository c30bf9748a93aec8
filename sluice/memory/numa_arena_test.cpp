// With the nodes that this machine has; tests/numa fills a node and looks across several.
#include "sluice/memory/numa_arena.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <cstdlib>
#include <cstring>
#include <iostream>

#include "sluice/memory/machine.hpp"
#include "sluice/memory/numa_topology.hpp"
#include "sluice/memory/page_mover.hpp"
#include "sluice/testing/refused_calls.hpp"

namespace sluice::memory {
namespace {

using ::testing::HasSubstr;

class NumaArena : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto topology = read_numa_topology();
    if (!topology.ok()) GTEST_SKIP() << topology.error().message;
    node_ = *topology->find(topology->with_memory().front());
  }

  NumaNode node_;
};

TEST_F(NumaArena, EveryPageIsOnTheNodeFromTheStart) {
  const auto arena = map_arena_on_node(67 * kMiB + kBlockAlignment, "numa:0", node_.id);
  ASSERT_TRUE(arena.ok()) << arena.error().message;
  EXPECT_EQ(arena->bytes(), 67 * kMiB + kBlockAlignment);
  const auto nodes = nodes_of_pages(pages_of(arena->data(), arena->bytes()));
  ASSERT_TRUE(nodes.ok()) << nodes.error().message;
  EXPECT_THAT(*nodes, ::testing::Each(node_.id));
}

TEST_F(NumaArena, BindingKeepsWhatIsThere) {
  const Arena arena = Arena::map(3 * kMiB, "test").value();
  arena.data()[2 * kMiB + 5] = std::byte{42};
  ASSERT_TRUE(bind_to_node(arena, "numa:0", node_.id).ok());
  EXPECT_EQ(arena.data()[2 * kMiB + 5], std::byte{42});
}

TEST_F(NumaArena, OfNothingNeedsNoNode) { EXPECT_EQ(map_arena_on_node(0, "numa:900", 900)->bytes(), 0); }

TEST_F(NumaArena, NodeThatDoesNotExistIsNamed) {
  for (const int node : {900, 1 << 20, -1}) {
    const auto arena = map_arena_on_node(kMiB, "slow", node);
    ASSERT_FALSE(arena.ok());
    EXPECT_EQ(arena.error().code, ErrorCode::kBadInput);
    EXPECT_THAT(arena.error().message, HasSubstr("node " + std::to_string(node)));
    EXPECT_THAT(arena.error().message, HasSubstr("'slow'"));
  }
}

TEST_F(NumaArena, MoreThanTheNodeHasIsRefusedUntouched) {
  const auto arena = map_arena_on_node(align_up(node_.memory, kGiB) + kGiB, "slow", node_.id);
  ASSERT_FALSE(arena.ok());
  EXPECT_EQ(arena.error().code, ErrorCode::kOutOfSpace);
  EXPECT_THAT(arena.error().message, HasSubstr("memory node " + std::to_string(node_.id) + " is full"));
  EXPECT_THAT(arena.error().message, HasSubstr("could be had"));
}

using NumaArenaDeathTest = NumaArena;

TEST_F(NumaArenaDeathTest, SaysWhoMayForbidBinding) {
  const auto map = [this] {
    testing::refuse_calls({SYS_mbind});
    const auto arena = map_arena_on_node(kMiB, "slow", node_.id);
    std::cerr << arena.error().message;
    std::exit(arena.error().code == ErrorCode::kUnsupported ? 0 : 1);
  };
  EXPECT_EXIT(map(), ::testing::ExitedWithCode(0), "cannot bind 1.0 MiB of tier 'slow'.*not permitted.*SYS_NICE");
}

}  // namespace
}  // namespace sluice::memory
