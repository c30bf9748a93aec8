#include "sluice/memory/machine_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::memory {
namespace {

Machine described_machine() {
  Machine machine;
  machine.cpu = "Test CPU";
  machine.threads = 2;
  machine.cache_bytes = 4 * kMiB;
  Tier fast;
  fast.name = "dram";
  fast.capacity = 8 * kGiB;
  fast.read_bandwidth = 5e10;
  Tier slow;
  slow.name = "file";
  slow.kind = TierKind::kFile;
  slow.addressable = false;
  slow.path = "/some/where";
  slow.granule = 256;
  slow.latency = 1e-4;
  slow.provenance = Provenance::kMeasured;
  machine.tiers = {fast, slow};
  machine.links = {{.from = 0, .to = 1, .bandwidth = 2.5e9, .shared_bandwidth = 2e9},
                   {.from = 1, .to = 0, .bandwidth = 1e9, .queue_depth = 4, .copied_by = CopiedBy::kDma}};
  machine.processors = {{.name = "device", .threads = 2}, {.name = "host", .tiers = {0}, .emulated = true}};
  return machine;
}

TEST(MachineJsonTest, SurvivesTheRoundTrip) {
  const Machine machine = described_machine();
  const auto again = machine_from_json(machine_to_json(machine));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(machine_to_json(*again), machine_to_json(machine));
  EXPECT_EQ(again->fingerprint(), machine.fingerprint());
  EXPECT_EQ(again->tiers[1].path, "/some/where");
  EXPECT_EQ(again->links[1].queue_depth, 4);
  EXPECT_EQ(again->cache_bytes, 4 * kMiB);
  EXPECT_EQ(again->processors, machine.processors);
  EXPECT_EQ(again->tiers[1].granule, 256);
  EXPECT_EQ(again->links[0].copied_by, CopiedBy::kProcessor);
  EXPECT_EQ(again->links[1].copied_by, CopiedBy::kDma);
  EXPECT_EQ(again->links[0].shared_bandwidth, 2e9);
  EXPECT_EQ(again->links[1].shared_bandwidth, 0);
}

TEST(MachineJsonTest, KeepsMemoryNodes) {
  Machine machine = described_machine();
  machine.tiers[1] = {.name = "numa:3", .kind = TierKind::kNuma, .node = 3, .provenance = Provenance::kFirmware};
  nlohmann::json document = machine_to_json(machine);
  const auto again = machine_from_json(document);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->tiers[1].kind, TierKind::kNuma);
  EXPECT_EQ(again->tiers[1].node, 3);
  EXPECT_EQ(again->tiers[1].provenance, Provenance::kFirmware);
  document["tiers"][1].erase("node");
  EXPECT_THAT(machine_from_json(document).error().message, ::testing::HasSubstr("node"));
}

TEST(MachineJsonTest, ReadsFilesFromBeforeLinksShared) {
  nlohmann::json document = machine_to_json(described_machine());
  for (auto& link : document["links"]) link.erase("shared_bandwidth");
  const auto machine = machine_from_json(document);
  ASSERT_TRUE(machine.ok()) << machine.error().message;
  EXPECT_EQ(machine->links[0].bandwidth, 2.5e9);
  EXPECT_EQ(machine->links[0].shared_bandwidth, 0);
}

TEST(MachineJsonTest, NamesWhatIsMissingOrUnknown) {
  nlohmann::json document = machine_to_json(described_machine());
  document["tiers"][1]["kind"] = "tape";
  const auto error = [&] { return machine_from_json(document).error().message; };
  EXPECT_EQ(error(), "not a machine description: /tiers/1/kind: unknown word 'tape'");
  document["tiers"][1].erase("kind");
  EXPECT_EQ(error(), "not a machine description: /tiers/1/kind: missing");
  document = machine_to_json(described_machine());
  document["links"][1]["bandwidth"] = "fast";
  EXPECT_EQ(error(), "not a machine description: /links/1/bandwidth: expected a number, found \"fast\"");
  document["links"] = 3;
  EXPECT_EQ(error(), "not a machine description: /links: expected a list, found 3");
  document = nlohmann::json::array();
  EXPECT_EQ(error(), "not a machine description: /: expected an object, found []");
}

}  // namespace
}  // namespace sluice::memory
