// On a machine of any number of nodes; tests/numa moves pages between several.
#include "sluice/memory/page_mover.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstdlib>
#include <iostream>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/arena.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/testing/refused_calls.hpp"

namespace sluice::memory {
namespace {

using ::testing::HasSubstr;

constexpr int kNoSuchNode = 900;

// Of the node that the kernel chose for a page of this process.
int some_node() {
  const Arena arena = Arena::map(kBlockAlignment, "test").value();
  arena.prefault(1);
  return nodes_of_pages(pages_of(arena.data(), arena.bytes())).value().front();
}

TEST(PageMover, AsksForEveryPageOfManyBatches) {
  const Arena arena = Arena::map(5 * kMiB, "test").value();
  arena.data()[kBlockAlignment * 700] = std::byte{1};
  ASSERT_EQ(::madvise(arena.data(), as_index(arena.bytes()), MADV_NOHUGEPAGE), 0);
  const auto pages = pages_of(arena.data(), arena.bytes());
  ASSERT_EQ(pages.size(), 1280U);
  EXPECT_EQ(pages[3], arena.data() + 3 * kBlockAlignment);
  const auto nodes = nodes_of_pages(pages);
  ASSERT_TRUE(nodes.ok()) << nodes.error().message;
  EXPECT_GE(nodes->at(700), 0);
  EXPECT_EQ(nodes->back(), kNowhereYet);
  arena.prefault(1);
  EXPECT_THAT(nodes_of_pages(pages).value(), ::testing::Each(::testing::Ge(0)));
}

TEST(PageMover, PagesThatAreThereStay) {
  const Arena arena = Arena::map(3 * kMiB, "test").value();
  arena.prefault(1);
  const auto pages = pages_of(arena.data(), arena.bytes());
  const auto moves = move_pages_to_node(pages, nodes_of_pages(pages).value().front());
  ASSERT_TRUE(moves.ok()) << moves.error().message;
  EXPECT_EQ(moves->left_behind, 0);
  EXPECT_FALSE(moves->node_full);
  EXPECT_EQ(moves->nodes.size(), pages.size());
}

TEST(PageMover, PagesThatNobodyTouchedStayUntouched) {
  const Arena arena = Arena::map(kMiB, "test").value();
  const auto moves = move_pages_to_node(pages_of(arena.data(), arena.bytes()), some_node());
  ASSERT_TRUE(moves.ok()) << moves.error().message;
  EXPECT_THAT(moves->nodes, ::testing::Each(kNowhereYet));
  EXPECT_EQ(moves->moved, 0);
  EXPECT_EQ(moves->left_behind, 0);
}

TEST(PageMover, NothingToMoveIsNoError) {
  EXPECT_EQ(move_pages_to_node({}, 0)->moved, 0);
  EXPECT_TRUE(nodes_of_pages({})->empty());
}

TEST(PageMover, NamesANodeThatDoesNotExist) {
  const Arena arena = Arena::map(kMiB, "test").value();
  arena.prefault(1);
  const auto moves = move_pages_to_node(pages_of(arena.data(), arena.bytes()), kNoSuchNode);
  ASSERT_FALSE(moves.ok());
  EXPECT_EQ(moves.error().code, ErrorCode::kBadInput);
  EXPECT_THAT(moves.error().message, HasSubstr("node 900"));
}

TEST(PageMoverDeathTest, SaysWhoMayForbidIt) {
  const auto ask = [] {
    testing::refuse_calls({SYS_move_pages});
    std::byte byte{};
    void* const page = &byte;
    const auto nodes = nodes_of_pages({&page, 1});
    std::cerr << nodes.error().message;
    std::exit(nodes.error().code == ErrorCode::kUnsupported ? 0 : 1);
  };
  EXPECT_EXIT(ask(), ::testing::ExitedWithCode(0), "filter of system calls.*SYS_NICE");
}

}  // namespace
}  // namespace sluice::memory
