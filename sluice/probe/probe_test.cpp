#include "sluice/probe/probe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/base/clock.hpp"
#include "sluice/memory/numa_topology.hpp"
#include "sluice/memory/presets.hpp"
#include "sluice/memory/processors.hpp"

namespace sluice::probe {
namespace {

TEST(Probe, MeasuresAFileTier) {
  memory::Machine machine = memory::make_machine({.threads = 2, .spill_path = ::testing::TempDir()}).value();
  const Status status = measure_links(machine);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(machine.tier(memory::kFastTier).provenance, memory::Provenance::kMeasured);
  EXPECT_GT(machine.tier(memory::kFastTier).read_bandwidth, 1e8);  // sanitizers are slow
  EXPECT_LT(machine.tier(memory::kFastTier).read_bandwidth, 5e12);
  for (const memory::Link& link : machine.links) {
    EXPECT_EQ(link.provenance, memory::Provenance::kMeasured);
    EXPECT_GT(link.bandwidth, 1e6);
    EXPECT_LT(link.bandwidth, machine.tier(memory::kFastTier).read_bandwidth * 10);
    EXPECT_GT(link.shared_bandwidth, 1e5);
    EXPECT_LE(link.shared_bandwidth, link.bandwidth);
    EXPECT_GT(link.latency, 1e-6);
    EXPECT_LT(link.latency, 1.0);
    EXPECT_GE(link.queue_depth, 2);
    EXPECT_LE(link.queue_depth, 32);
    EXPECT_GE(link.request_bytes, kMiB);
    EXPECT_LE(link.request_bytes, 4 * kMiB);
    EXPECT_FALSE(link.throttled);
  }
}

TEST(Probe, AShortLookSaysTheSameInLess) {
  memory::Machine machine = memory::make_machine({.threads = 2, .spill_path = ::testing::TempDir()}).value();
  memory::Machine known = machine;
  const auto begin = Clock::now();
  ASSERT_TRUE(measure_links(machine, ProbeLength::kShort).ok());
  const Seconds shortly = seconds_since(begin);
  ASSERT_TRUE(measure_links(known).ok());
  EXPECT_LT(2 * shortly, seconds_since(begin) - shortly);
  for (std::size_t id = 0; id < machine.links.size(); ++id) {
    EXPECT_EQ(machine.links[id].provenance, memory::Provenance::kMeasured);
    EXPECT_GT(machine.links[id].bandwidth, known.links[id].bandwidth / 8) << "a burst of a cache may be faster";
    EXPECT_LE(machine.links[id].shared_bandwidth, machine.links[id].bandwidth);
    EXPECT_GT(machine.links[id].latency, 1e-6);
    EXPECT_GE(machine.links[id].queue_depth, 2);
  }
}

TEST(Probe, TakesTheFileAndMemoryOfTheHostsOwnForTheFileAndDram) {
  memory::Machine machine =
      memory::make_machine({.slow = {{"pcie3", 16 * kMiB}, {"file", 16 * kMiB}}, .spill_path = ::testing::TempDir()})
          .value();
  ASSERT_TRUE(memory::add_processors({{"device", 1, {}}, {"host", 1, {"pcie3"}}}, machine).ok());
  ASSERT_TRUE(measure_links(machine).ok());
  for (const auto& [slow, fast] : {std::pair{machine.link_between(2, 1), machine.link_between(2, 0)},
                                   std::pair{machine.link_between(1, 2), machine.link_between(0, 2)}}) {
    EXPECT_EQ(machine.link(*slow).provenance, memory::Provenance::kMeasured);
    EXPECT_EQ(machine.link(*slow).bandwidth, machine.link(*fast).bandwidth);
    EXPECT_EQ(machine.link(*slow).request_interference, machine.link(*fast).request_interference);
  }
}

TEST(Probe, KeepsAThrottleThatTheDiskCanReach) {
  memory::Machine machine =
      memory::make_machine({.slow = {{"file", 16 * kMiB}}, .spill_path = ::testing::TempDir(), .link_bandwidth = 1e6})
          .value();
  ASSERT_TRUE(measure_links(machine).ok());
  for (const memory::Link& link : machine.links) {
    EXPECT_DOUBLE_EQ(link.bandwidth, 1e6);
    EXPECT_GT(link.shared_bandwidth, 9e5);  // 1 MB/s leaves any disk nearly all it has the other way
    EXPECT_LE(link.shared_bandwidth, link.bandwidth);
    EXPECT_TRUE(link.throttled);
    EXPECT_EQ(link.provenance, memory::Provenance::kEmulated);
  }
}

TEST(Probe, LowersAThrottleThatTheHardwareCannotReach) {
  memory::Machine machine = memory::make_machine({.slow = {{"optane"}}, .link_bandwidth = 1e15}).value();
  const memory::Tier before = machine.tier(1);
  ASSERT_TRUE(measure_links(machine).ok());
  for (const memory::Link& link : machine.links) {
    EXPECT_LT(link.bandwidth, 1e13);
  }
  EXPECT_DOUBLE_EQ(machine.tier(1).read_bandwidth, before.read_bandwidth);
  EXPECT_EQ(machine.tier(1).provenance, memory::Provenance::kEmulated);
}

// Where lanes copy, they and compute slow each other down; by how much depends on who else is at work here.
TEST(Probe, CopiesCostComputeSomething) {
  memory::Machine machine = memory::make_machine({.threads = 2, .slow = {{"pmbd"}}}).value();
  ASSERT_TRUE(measure_links(machine).ok());
  for (const memory::Link& link : machine.links) {
    EXPECT_GT(link.bandwidth, 1e6);
    EXPECT_GT(link.shared_bandwidth, 0);
    EXPECT_LE(link.shared_bandwidth, link.bandwidth);
    EXPECT_GE(link.interference, 0);
    EXPECT_LE(link.interference * link.bandwidth, 1.0001);  // of a second of compute
  }
}

// The time of one large piece is longer than the load beside which it is copied.
TEST(Probe, MeasuresAVerySlowEmulatedMemory) {
  memory::Machine machine = memory::make_machine({.threads = 1, .slow = {{"optane"}}, .link_bandwidth = 2e7}).value();
  BytesPerSecond slowest = 0;  // of the best of three tries: other programs take processors from some
  for (int tries = 0; tries < 3 && slowest <= 1e7; ++tries) {
    ASSERT_TRUE(measure_links(machine).ok());
    slowest = std::min(machine.links[0].bandwidth, machine.links[1].bandwidth);
    for (const memory::Link& link : machine.links) EXPECT_LE(link.bandwidth, 2e7);
  }
  EXPECT_GT(slowest, 1e7);
}

TEST(Probe, AThrottleLeavesTheOtherDirectionItsShare) {
  memory::Machine machine = memory::make_machine({.threads = 1, .slow = {{"pcie3"}}, .link_bandwidth = 1e6}).value();
  ASSERT_TRUE(measure_links(machine).ok());
  for (const memory::Link& link : machine.links) {
    EXPECT_DOUBLE_EQ(link.bandwidth, 1e6);
    EXPECT_GT(link.shared_bandwidth, 9e5);
  }
}

TEST(Probe, SmallTierIsMeasuredWithinItsCapacity) {
  memory::Machine machine =
      memory::make_machine({.slow = {{"file", kMiB}}, .spill_path = ::testing::TempDir()}).value();
  const Status status = measure_links(machine);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(machine.links[0].provenance, memory::Provenance::kMeasured);
}

// Two tiers of one node are as good as two nodes here: each has figures of its own.
TEST(Probe, MeasuresMemoryNodesUnlessFirmwareSpeaks) {
  const auto topology = memory::read_numa_topology();
  if (!topology.ok()) GTEST_SKIP() << topology.error().message;
  const int node = topology->with_memory().front();
  memory::Machine machine;
  machine.tiers = {
      {.name = "fast", .kind = memory::TierKind::kNuma, .capacity = 64 * kMiB, .node = node},
      {.name = "slow", .kind = memory::TierKind::kNuma, .capacity = 16 * kMiB, .read_bandwidth = 1, .node = node}};
  machine.tiers[1].provenance = memory::Provenance::kFirmware;
  machine.links = {{.from = 1, .to = 0, .latency = 2e-7}, {.from = 0, .to = 1, .latency = 2e-7}};
  const Status status = measure_links(machine);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(machine.tiers[0].provenance, memory::Provenance::kMeasured);
  EXPECT_GT(machine.tiers[0].read_bandwidth, 1e8);
  EXPECT_GT(machine.tiers[0].write_bandwidth, 1e8);
  EXPECT_EQ(machine.tiers[1].provenance, memory::Provenance::kFirmware);
  EXPECT_EQ(machine.tiers[1].read_bandwidth, 1);
  for (const memory::Link& link : machine.links) {
    EXPECT_EQ(link.provenance, memory::Provenance::kMeasured);
    EXPECT_GT(link.bandwidth, 1e7);
    EXPECT_EQ(link.latency, 2e-7);
  }
}

TEST(Probe, ALinkWithoutALinkBackSharesNothing) {
  memory::Machine machine =
      memory::make_machine({.slow = {{"file", 16 * kMiB}}, .spill_path = ::testing::TempDir()}).value();
  machine.links.pop_back();
  const Status status = measure_links(machine);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(machine.links[0].provenance, memory::Provenance::kMeasured);
  EXPECT_EQ(machine.links[0].shared_bandwidth, 0);
}

TEST(Probe, PathThatCannotBeWrittenIsAnError) {
  memory::Machine machine = memory::make_machine({.spill_path = "/proc"}).value();
  machine.tiers[1].capacity = kGiB;
  const Status status = measure_links(machine);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, ::testing::HasSubstr("'/proc'"));
}

}  // namespace
}  // namespace sluice::probe
