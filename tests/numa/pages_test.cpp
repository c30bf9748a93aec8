// Real pages on real nodes: bound arenas, a node that is full, pages moved in place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numaif.h>
#include <sys/mman.h>

#include <array>
#include <cstring>

#include "sluice/base/random.hpp"
#include "sluice/memory/numa_arena.hpp"
#include "sluice/memory/page_mover.hpp"
#include "sluice/memory/presets.hpp"
#include "sluice/memory/transfer/engine_factory.hpp"
#include "sluice/memory/transfer/transfer_queue.hpp"
#include "sluice/probe/probe.hpp"
#include "tests/numa/machine_nodes.hpp"

namespace sluice::tests {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr std::uint64_t kSeed = 20;

std::vector<int> nodes_of(const memory::Arena& arena) {
  return memory::nodes_of_pages(memory::pages_of(arena.data(), arena.bytes())).value();
}

memory::Arena arena_of_small_pages(Bytes bytes, int node) {
  memory::Arena arena = memory::Arena::map(bytes, "test").value();
  ::madvise(arena.data(), static_cast<std::size_t>(bytes), MADV_NOHUGEPAGE);
  SLUICE_CHECK(memory::bind_to_node(arena, "test", node).ok(), "room on the node");
  return arena;
}

// Pages of a bound range can be moved all the same, but the test should not depend on it.
void unbind(const memory::Arena& arena) {
  ASSERT_EQ(::mbind(arena.data(), static_cast<unsigned long>(arena.bytes()), MPOL_DEFAULT, nullptr, 0, 0), 0);
}

void fill(const memory::Arena& arena) {
  for (Bytes i = 0; i < arena.bytes(); i += 512) {
    const std::uint64_t word = random_bits(kSeed, 0, static_cast<std::uint64_t>(i));
    std::memcpy(arena.data() + i, &word, sizeof word);
  }
}

bool is_filled(const memory::Arena& arena) {
  for (Bytes i = 0; i < arena.bytes(); i += 512) {
    const std::uint64_t word = random_bits(kSeed, 0, static_cast<std::uint64_t>(i));
    if (std::memcmp(arena.data() + i, &word, sizeof word) != 0) return false;
  }
  return true;
}

class NumaPages : public ::testing::Test {
 protected:
  MachineNodes nodes_ = machine_nodes();
};

TEST_F(NumaPages, AnArenaLiesOnItsNodeAndIsBoundToIt) {
  for (const memory::NumaNode* node : {&nodes_.slow, &nodes_.fast}) {
    const auto arena = memory::map_arena_on_node(150 * kMiB, "numa", node->id);
    ASSERT_TRUE(arena.ok()) << arena.error().message;
    EXPECT_THAT(nodes_of(*arena), Each(node->id));
    int policy = -1;
    std::array<unsigned long, 16> mask{};
    ASSERT_EQ(::get_mempolicy(&policy, mask.data(), mask.size() * 64, arena->data() + 70 * kMiB, MPOL_F_ADDR), 0);
    EXPECT_EQ(policy, MPOL_BIND);
    EXPECT_EQ(mask[0], 1UL << node->id);
  }
}

TEST_F(NumaPages, MemoryTouchedElsewhereIsBroughtToTheNode) {
  const memory::Arena arena = memory::Arena::map(20 * kMiB, "test").value();
  fill(arena);
  ASSERT_THAT(nodes_of(arena), Each(nodes_.fast.id));
  ASSERT_TRUE(memory::bind_to_node(arena, "numa", nodes_.slow.id).ok());
  EXPECT_THAT(nodes_of(arena), Each(nodes_.slow.id));
  EXPECT_TRUE(is_filled(arena));
}

TEST_F(NumaPages, AFullNodeIsAnErrorAndGivesItsMemoryBack) {
  const Bytes wanted = nodes_.small.memory;  // there are that many bytes, but the kernel has some of them
  for (int again = 0; again < 2; ++again) {
    const auto arena = memory::map_arena_on_node(wanted, "slow", nodes_.small.id);
    ASSERT_FALSE(arena.ok());
    EXPECT_EQ(arena.error().code, ErrorCode::kOutOfSpace);
    EXPECT_THAT(arena.error().message, HasSubstr("memory node " + std::to_string(nodes_.small.id) + " is full"));
    EXPECT_THAT(arena.error().message, HasSubstr(format_bytes(align_down(wanted, memory::kBlockAlignment))));
    RecordProperty("message", arena.error().message);
  }
  EXPECT_THAT(memory::map_arena_on_node(kGiB, "slow", nodes_.small.id).error().message, HasSubstr("is full"));
  EXPECT_TRUE(memory::map_arena_on_node(nodes_.small.free / 2, "slow", nodes_.small.id).ok());
}

TEST_F(NumaPages, AllOfATiersCapacityCanBeHad) {
  const memory::Machine machine = memory::make_machine({.slow = {{numa_tier(nodes_.small)}}}).value();
  const auto arena = memory::map_arena_on_node(machine.tier(1).capacity, "slow", nodes_.small.id);
  ASSERT_TRUE(arena.ok()) << arena.error().message;
  EXPECT_THAT(nodes_of(*arena), Each(nodes_.small.id));
}

TEST_F(NumaPages, PagesMoveInPlaceThereAndBack) {
  const memory::Arena arena = arena_of_small_pages(9 * kMiB + 3 * memory::kBlockAlignment, nodes_.fast.id);
  unbind(arena);
  fill(arena);
  const auto pages = memory::pages_of(arena.data(), arena.bytes());
  for (const int node : {nodes_.slow.id, nodes_.fast.id}) {
    const auto moves = memory::move_pages_to_node(pages, node);
    ASSERT_TRUE(moves.ok()) << moves.error().message;
    EXPECT_EQ(moves->moved, static_cast<std::int64_t>(pages.size()));
    EXPECT_EQ(moves->left_behind, 0);
    EXPECT_FALSE(moves->node_full);
    EXPECT_THAT(moves->nodes, Each(node));
    EXPECT_THAT(nodes_of(arena), Each(node));
    EXPECT_TRUE(is_filled(arena));
  }
}

TEST_F(NumaPages, OnlyThePagesAskedForMove) {
  const memory::Arena arena = arena_of_small_pages(6 * kMiB, nodes_.fast.id);
  unbind(arena);
  const auto pages = memory::pages_of(arena.data(), arena.bytes());
  std::vector<void*> chosen;
  for (std::size_t i = 0; i < pages.size(); i += 3) chosen.push_back(pages[i]);
  EXPECT_EQ(memory::move_pages_to_node(chosen, nodes_.slow.id)->moved, static_cast<std::int64_t>(chosen.size()));
  const std::vector<int> nodes = nodes_of(arena);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    EXPECT_EQ(nodes[i], i % 3 == 0 ? nodes_.slow.id : nodes_.fast.id) << i;
  }
}

TEST_F(NumaPages, HugePagesMoveWhole) {
  const memory::Arena arena = memory::Arena::map(16 * kMiB, "test").value();
  fill(arena);
  const auto pages = memory::pages_of(arena.data(), arena.bytes());
  const auto moves = memory::move_pages_to_node(pages, nodes_.slow.id);
  ASSERT_TRUE(moves.ok()) << moves.error().message;
  EXPECT_EQ(moves->moved, static_cast<std::int64_t>(pages.size()));
  EXPECT_THAT(nodes_of(arena), Each(nodes_.slow.id));
  EXPECT_TRUE(is_filled(arena));
}

TEST_F(NumaPages, AFullNodeTakesWhatItCan) {
  const memory::Arena arena = arena_of_small_pages(200 * kMiB, nodes_.fast.id);
  unbind(arena);
  fill(arena);
  const auto moves = memory::move_pages_to_node(memory::pages_of(arena.data(), arena.bytes()), nodes_.small.id);
  ASSERT_TRUE(moves.ok()) << moves.error().message;
  EXPECT_TRUE(moves->node_full);
  EXPECT_GT(moves->moved, 20 * kMiB / memory::kBlockAlignment);
  EXPECT_EQ(moves->moved + moves->left_behind, 200 * kMiB / memory::kBlockAlignment);
  const std::vector<int> real = nodes_of(arena);
  EXPECT_TRUE(real == moves->nodes) << std::ranges::count(real, memory::kNowhereYet) << " pages are nowhere, "
                                    << std::ranges::count(real, nodes_.slow.id) << " on the node nobody named";
  EXPECT_EQ(std::ranges::count(real, nodes_.small.id), moves->moved);
  EXPECT_EQ(std::ranges::count(real, nodes_.fast.id), moves->left_behind);
  EXPECT_TRUE(is_filled(arena));
}

TEST_F(NumaPages, TransfersCopyBetweenNodes) {
  const memory::Machine machine = memory::make_machine({.slow = {{numa_tier(nodes_.slow)}}}).value();
  const auto storages = memory::TierStorages::open(machine, std::vector<Bytes>{4 * kMiB, 6 * kMiB}).value();
  std::vector<std::byte> written(static_cast<std::size_t>(3 * kMiB), std::byte{7});
  ASSERT_TRUE(storages.write(0, kMiB, written).ok());
  memory::TransferQueue queue(memory::make_engine(machine, *machine.link_between(0, 1), storages).value(), {});
  ASSERT_TRUE(queue.wait(queue.put({kMiB, 2 * kMiB, 3 * kMiB})).ok());
  std::vector<std::byte> read(written.size());
  ASSERT_TRUE(storages.read(1, 2 * kMiB, read).ok());
  EXPECT_EQ(read, written);
  for (const memory::TierId tier : {0, 1}) {
    EXPECT_THAT(memory::nodes_of_pages(memory::pages_of(storages.base(tier), storages.bytes(tier))).value(),
                Each(machine.tier(tier).node));
  }
}

TEST_F(NumaPages, TheProbeMeasuresWhatFirmwareDoesNotSay) {
  for (const memory::NumaNode* node : {&nodes_.slow, &nodes_.small}) {
    memory::Machine machine = memory::make_machine({.slow = {{numa_tier(*node), 16 * kMiB}}}).value();
    const memory::Provenance expected =
        nodes_.memoryless ? memory::Provenance::kMeasured : memory::Provenance::kFirmware;
    const Status status = probe::measure_links(machine);
    ASSERT_TRUE(status.ok()) << status.error().message;
    for (const memory::Tier& tier : machine.tiers) EXPECT_EQ(tier.provenance, expected);
    for (const memory::Link& link : machine.links) EXPECT_EQ(link.provenance, memory::Provenance::kMeasured);
  }
}

}  // namespace
}  // namespace sluice::tests
