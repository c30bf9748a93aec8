#include "sluice/memory/on_host.hpp"

#include <gtest/gtest.h>

#include "sluice/memory/presets.hpp"

namespace sluice::memory {
namespace {

TEST(OnHost, AGpuIsRefusedByName) {
  EXPECT_TRUE(check_on_host(host_machine(1), "counting accesses").ok());
  const GpuFacts gpu{.name = "A GPU", .driver = "13.0", .capacity = 8 * kGiB, .free = 7 * kGiB};
  const Machine machine = make_machine({.threads = 1, .slow = {{"host", kGiB}}, .gpu = gpu}).value();
  const Status refused = check_on_host(machine, "counting accesses");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(refused.error().message.find("counting accesses needs memory that the host can reach"), 0U);
}

TEST(GpuMachine, ItsMemoryIsTheFastTierAndPinnedMemoryTheSlowOne) {
  const GpuFacts gpu{.name = "A GPU", .driver = "13.0", .capacity = 8 * kGiB, .free = 7 * kGiB};
  const Machine machine = make_machine({.threads = 4, .slow = {{"host", kGiB}}, .gpu = gpu}).value();
  ASSERT_EQ(machine.tiers.size(), 2U);
  EXPECT_EQ(machine.tier(kFastTier).kind, TierKind::kGpu);
  EXPECT_EQ(machine.tier(kFastTier).capacity, 7 * kGiB) << "what is free";
  EXPECT_EQ(machine.tier(1).kind, TierKind::kPinned);
  EXPECT_FALSE(machine.tier(1).addressable);
  EXPECT_EQ(machine.links.size(), 2U);
  ASSERT_EQ(machine.processors.size(), 1U);
  EXPECT_EQ(machine.processors.front().backend, "cuda");
  EXPECT_FALSE(machine.processors.front().emulated);
  EXPECT_NE(machine.cpu.find("A GPU"), std::string::npos);
}

TEST(GpuMachine, LeadsToPinnedMemoryAlone) {
  const GpuFacts gpu{.name = "A GPU", .driver = "13.0", .capacity = 8 * kGiB, .free = 7 * kGiB};
  EXPECT_FALSE(make_machine({.threads = 1, .slow = {{"optane"}}, .gpu = gpu}).ok());
  EXPECT_FALSE(make_machine({.threads = 1, .slow = {{"host"}}}).ok()) << "without a GPU";
}

}  // namespace
}  // namespace sluice::memory
