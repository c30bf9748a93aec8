#include "sluice/memory/transfer/tier_storage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "sluice/base/as_index.hpp"
#include "sluice/base/limits/memory_allowance.hpp"
#include "sluice/memory/numa_topology.hpp"
#include "sluice/memory/page_mover.hpp"
#include "sluice/memory/presets.hpp"

namespace sluice::memory {
namespace {

using ::testing::HasSubstr;

Machine machine_with(const std::string& slow_tier) {
  return make_machine({.slow = {{slow_tier}}, .spill_path = ::testing::TempDir()}).value();
}

TEST(TierStorages, EveryKindKeepsWhatIsWritten) {
  for (const std::string& name : slow_tier_names()) {
    SCOPED_TRACE(name);
    const std::vector<Bytes> sizes{2 * kMiB, 3 * kMiB};
    const auto storages = TierStorages::open(machine_with(name), sizes);
    ASSERT_TRUE(storages.ok()) << storages.error().message;
    EXPECT_EQ(storages->base(1) == nullptr, name == "file");
    EXPECT_EQ(storages->file(1) != nullptr, name == "file");
    for (const TierId tier : {0, 1}) {
      EXPECT_EQ(storages->bytes(tier), sizes[as_index(tier)]);
      const std::vector<std::byte> written(10000, static_cast<std::byte>(40 + tier));
      std::vector<std::byte> back(10000);
      ASSERT_TRUE(storages->write(tier, 4096 + 3, written).ok());
      ASSERT_TRUE(storages->read(tier, 4096 + 3, back).ok());
      EXPECT_EQ(back, written);
    }
  }
}

TEST(TierStorages, ANumaTierLiesOnItsNode) {
  const auto topology = read_numa_topology();
  if (!topology.ok()) GTEST_SKIP() << topology.error().message;
  const int node = topology->with_memory().front();
  Machine machine;
  machine.tiers = {{.name = "fast", .kind = TierKind::kNuma, .node = node},
                   {.name = "slow", .kind = TierKind::kNuma, .node = 900}};
  auto storages = TierStorages::open(machine, std::vector<Bytes>{2 * kMiB});
  ASSERT_TRUE(storages.ok()) << storages.error().message;
  EXPECT_THAT(nodes_of_pages(pages_of(storages->base(0), storages->bytes(0))).value(), ::testing::Each(node));
  storages = TierStorages::open(machine, std::vector<Bytes>{2 * kMiB, kMiB});
  ASSERT_FALSE(storages.ok());
  EXPECT_THAT(storages.error().message, HasSubstr("tier 'slow' to memory node 900"));
}

// The kernel would map them, and end the program as soon as they are used.
TEST(TierStorages, MoreMemoryThanThisProcessMayHaveIsRefused) {
  const Machine machine = machine_with("optane");
  const Bytes half = align_down(memory_allowance().with_swap / 2, kBlockAlignment) + 2 * kMiB;
  const auto storages = TierStorages::open(machine, std::vector<Bytes>{half, half});
  ASSERT_FALSE(storages.ok());
  EXPECT_EQ(storages.error().code, ErrorCode::kOutOfSpace);
  EXPECT_THAT(storages.error().message, HasSubstr("for tier 'dram', "));
  EXPECT_THAT(storages.error().message, HasSubstr("for tier 'optane'), and this process may have"));
}

TEST(TierStorages, TiersThatNeedNothingGetNothing) {
  Machine machine = machine_with("file");
  machine.tiers[1].path = "/no/such/directory";  // would fail if it were opened
  const auto storages = TierStorages::open(machine, std::vector<Bytes>{kMiB});
  ASSERT_TRUE(storages.ok()) << storages.error().message;
  EXPECT_EQ(storages->bytes(1), 0);
  EXPECT_TRUE(storages->notes().empty());
}

TEST(TierStorages, RangesOutsideAreRefused) {
  const auto storages = TierStorages::open(machine_with("file"), std::vector<Bytes>{kMiB, kMiB});
  std::vector<std::byte> bytes(4096);
  for (const TierId tier : {0, 1}) {
    EXPECT_TRUE(storages->read(tier, kMiB - 4096, bytes).ok());
    const Status status = storages->write(tier, kMiB - 4095, bytes);
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.error().message, HasSubstr(tier == 0 ? "'dram'" : "'file'"));
    EXPECT_FALSE(storages->read(tier, -1, bytes).ok());
  }
}

TEST(TierStorages, OpenPassesOnWhyAFileCannotBeUsed) {
  Machine machine = machine_with("file");
  machine.tiers[1].path = "/no/such/directory/spill";
  const auto storages = TierStorages::open(machine, std::vector<Bytes>{kMiB, kMiB});
  ASSERT_FALSE(storages.ok());
  EXPECT_THAT(storages.error().message, HasSubstr("/no/such/directory/spill"));
}

// Ordinary memory in the place of a device's, of which copies are counted.
int copies_of_device = 0;
const DeviceMemory kDevice{[](const Tier& tier, Bytes bytes) { return Arena::map(bytes, tier.name); },
                           [](void* to, const void* from, std::size_t bytes) {
                             ++copies_of_device;
                             std::memcpy(to, from, bytes);
                             return Status();
                           }};

TEST(TierStorages, MemoryOfADeviceIsMappedAndCopiedByWhoKnowsIt) {
  Machine machine;
  machine.tiers = {{.name = "gpu", .kind = TierKind::kGpu}, {.name = "host", .kind = TierKind::kPinned}};
  const std::vector<Bytes> sizes{kMiB, kMiB};
  const auto refused = TierStorages::open(machine, sizes);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  const auto storages = TierStorages::open(machine, sizes, {}, &kDevice).value();
  const std::vector<std::byte> bytes(100, std::byte{7});
  for (const TierId tier : {0, 1}) {
    std::vector<std::byte> back(bytes.size());
    ASSERT_TRUE(storages.write(tier, 5000, bytes).ok());
    ASSERT_TRUE(storages.read(tier, 5000, back).ok());
    EXPECT_EQ(back, bytes);
    EXPECT_EQ(copies_of_device, 2) << "the host reaches pinned memory itself";
  }
}

}  // namespace
}  // namespace sluice::memory
