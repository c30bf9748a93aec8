#include "sluice/memory/presets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <cstdlib>
#include <iostream>
#include <set>

#include "sluice/testing/refused_calls.hpp"

namespace sluice::memory {
namespace {

using ::testing::HasSubstr;

TEST(Presets, HostHasItsMemoryAndAName) {
  const Machine machine = host_machine(2);
  ASSERT_EQ(machine.tiers.size(), 1U);
  EXPECT_GT(machine.tier(kFastTier).capacity, 64 * kMiB);
  EXPECT_TRUE(machine.tier(kFastTier).addressable);
  EXPECT_EQ(machine.threads, 2);
  EXPECT_FALSE(machine.cpu.empty());
  EXPECT_TRUE(machine.links.empty());
}

TEST(Presets, EveryNamedTierIsLinkedBothWays) {
  const std::set<std::string> emulated{"optane", "pmbd", "pcie3"};
  const std::set<std::string> not_addressable{"file", "pcie3"};
  for (const std::string& name : slow_tier_names()) {
    SCOPED_TRACE(name);
    const auto machine = make_machine({.slow = {{name}}, .spill_path = ::testing::TempDir()});
    ASSERT_TRUE(machine.ok()) << machine.error().message;
    ASSERT_EQ(machine->tiers.size(), 2U);
    EXPECT_EQ(machine->tier(1).name, name);
    EXPECT_GT(machine->tier(1).capacity, 0);
    const auto to_fast = machine->link_between(1, kFastTier);
    const auto from_fast = machine->link_between(kFastTier, 1);
    ASSERT_TRUE(to_fast && from_fast);
    EXPECT_GT(machine->link(*to_fast).bandwidth, 0);
    EXPECT_GT(machine->link(*from_fast).bandwidth, 0);
    EXPECT_EQ(machine->tier(1).emulated(), emulated.contains(name));
    EXPECT_EQ(machine->link(*to_fast).throttled, emulated.contains(name));
    EXPECT_NE(machine->tier(1).addressable, not_addressable.contains(name));
  }
}

TEST(Presets, PmbdIsAsInTheTable) {
  const auto machine = make_machine({.slow = {{"pmbd"}}});
  EXPECT_DOUBLE_EQ(machine->tier(1).read_bandwidth, 19e9);
  EXPECT_EQ(machine->tier(1).granule, 64);
  EXPECT_DOUBLE_EQ(machine->tier(1).latency, 200e-9);
}

TEST(Presets, OptaneIsSixModulesOfASocket) {
  const auto machine = make_machine({.slow = {{"optane"}}});
  const Tier& slow = machine->tier(1);
  EXPECT_DOUBLE_EQ(slow.read_bandwidth, 39.4e9);
  EXPECT_DOUBLE_EQ(slow.write_bandwidth, 13.9e9);
  EXPECT_EQ(slow.granule, 256);
  EXPECT_DOUBLE_EQ(slow.latency, 305e-9);
}

// A GPU has engines that copy; on the way to a memory or to a memory on a bus nobody copies but the processor.
TEST(Presets, SayWhoCopies) {
  for (const auto& [name, copied_by] :
       {std::pair{"optane", CopiedBy::kProcessor}, std::pair{"pmbd", CopiedBy::kProcessor},
        std::pair{"pcie3", CopiedBy::kDma}, std::pair{"file", CopiedBy::kDma}}) {
    const auto machine = make_machine({.slow = {{name}}, .spill_path = ::testing::TempDir()});
    for (const Link& link : machine->links) EXPECT_EQ(link.copied_by, copied_by) << name;
  }
}

TEST(Presets, ThrottleMarksBothLinksEmulated) {
  const auto machine = make_machine({.spill_path = ::testing::TempDir(), .link_bandwidth = 1e9});
  ASSERT_TRUE(machine.ok());
  for (const Link& link : machine->links) {
    EXPECT_DOUBLE_EQ(link.bandwidth, 1e9);
    EXPECT_TRUE(link.throttled);
    EXPECT_EQ(link.provenance, Provenance::kEmulated);
  }
  EXPECT_FALSE(machine->tier(1).emulated());
}

TEST(Presets, NoSlowTierLeavesTheHostAlone) {
  EXPECT_EQ(make_machine({.slow = {}, .link_bandwidth = 1e9})->tiers.size(), 1U);
}

TEST(Presets, CapacityCanBeGiven) {
  EXPECT_EQ(make_machine({.slow = {{"pcie3", kGiB}}})->tier(1).capacity, kGiB);
  EXPECT_EQ(make_machine({.slow = {{"file", kGiB}}, .spill_path = ::testing::TempDir()})->tier(1).capacity, kGiB);
}

TEST(Presets, SlowTiersKeepTheirOrderAndEachHasItsLinks) {
  const auto machine =
      make_machine({.slow = {{"optane", kGiB}, {"pcie3"}, {"file"}}, .spill_path = ::testing::TempDir()});
  ASSERT_TRUE(machine.ok()) << machine.error().message;
  ASSERT_EQ(machine->tiers.size(), 4U);
  EXPECT_EQ(machine->tier(1).name, "optane");
  EXPECT_EQ(machine->tier(1).capacity, kGiB);
  EXPECT_EQ(machine->tier(2).name, "pcie3");
  EXPECT_EQ(machine->tier(3).name, "file");
  for (const TierId slow : {1, 2, 3}) {
    EXPECT_TRUE(machine->link_between(kFastTier, slow) && machine->link_between(slow, kFastTier)) << slow;
  }
  EXPECT_EQ(machine->links.size(), 6U);
}

TEST(Presets, NoSlowTierIsNamedTwice) {
  const auto machine = make_machine({.slow = {{"pmbd"}, {"optane"}, {"pmbd", kGiB}}});
  ASSERT_FALSE(machine.ok());
  EXPECT_EQ(machine.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(machine.error().message, "slow tier 'pmbd' is named twice");
}

TEST(Presets, SlowTiersAreReadWithTheirCapacity) {
  EXPECT_EQ(parse_slow_tier("file")->name, "file");
  EXPECT_FALSE(parse_slow_tier("file")->capacity);
  EXPECT_EQ(parse_slow_tier("optane:2GiB")->name, "optane");
  EXPECT_EQ(parse_slow_tier("optane:2GiB")->capacity->resolve(0), 2 * kGiB);
  EXPECT_FALSE(parse_slow_tier("optane:2GiB")->is_share());
  EXPECT_EQ(parse_slow_tier("optane:25%")->capacity->resolve(4 * kGiB), kGiB);
  EXPECT_TRUE(parse_slow_tier("optane:25%")->is_share());
  EXPECT_EQ(parse_slow_tier("numa:1")->name, "numa:1");
  EXPECT_FALSE(parse_slow_tier("numa:1")->capacity);
  EXPECT_EQ(parse_slow_tier("numa:0,1:8GiB")->name, "numa:0,1");
  EXPECT_EQ(parse_slow_tier("numa:0,1:8GiB")->capacity->resolve(0), 8 * kGiB);
  EXPECT_EQ(parse_slow_tier("numa:")->name, "numa:") << "refused by make_machine(), which knows what is missing";
  for (const char* wrong : {"file:", "file:much", "file:0", "file:4095", "numa:1:", "optane:1GiB:2"}) {
    EXPECT_FALSE(parse_slow_tier(wrong).ok()) << wrong;
  }
}

TEST(Presets, BadInputIsExplained) {
  const auto unknown = make_machine({.slow = {{"tape"}}});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kBadInput);
  EXPECT_THAT(unknown.error().message, HasSubstr("'tape'"));
  EXPECT_THAT(unknown.error().message, HasSubstr("file, optane, pmbd, pcie3"));
  EXPECT_THAT(unknown.error().message, HasSubstr("numa:NODE"));
  EXPECT_FALSE(make_machine({.threads = 0}).ok());
  const auto missing = make_machine({.spill_path = "/no/such/directory/spill"});
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message, HasSubstr("/no/such/directory/spill"));
}

TEST(Presets, MemoryNodesAreOnesThatExist) {
  const auto machine = make_machine({.slow = {{"numa:900"}}});
  ASSERT_FALSE(machine.ok());
  EXPECT_THAT(machine.error().message,
              ::testing::AnyOf(HasSubstr("node 900 does not exist"), HasSubstr("no memory nodes")));
  EXPECT_THAT(make_machine({.slow = {{"numa:one"}}}).error().message, HasSubstr("'numa:one'"));
}

TEST(PresetsDeathTest, WithoutNumaOtherTiersAreNamed) {
  const auto make = [] {
    testing::refuse_calls({SYS_get_mempolicy}, ENOSYS);
    const auto machine = make_machine({.slow = {{"numa:1"}}});
    std::cerr << machine.error().message;
    std::exit(machine.error().code == ErrorCode::kUnsupported ? 0 : 1);
  };
  EXPECT_EXIT(make(), ::testing::ExitedWithCode(0), "no memory nodes.*such as file");
}

}  // namespace
}  // namespace sluice::memory
