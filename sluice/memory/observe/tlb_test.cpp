#include "sluice/memory/observe/tlb.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace sluice::memory {
namespace {

using ::testing::HasSubstr;
using Answers = std::map<std::pair<std::uint32_t, std::uint32_t>, CpuidAnswer>;

TlbReach reach_of(const Answers& answers) {
  return tlb_reach_from_cpuid([&](std::uint32_t leaf, std::uint32_t subleaf) {
    const auto found = answers.find({leaf, subleaf});
    return found == answers.end() ? CpuidAnswer{} : found->second;
  });
}

TEST(TlbReach, ReadsAmdsSecondLevel) {
  // Zen 2: 2048 entries for instructions and for data, 8 ways.
  const TlbReach reach = reach_of({{{0x80000006, 0}, {0x48002200, 0x68004200, 0x02006140, 0}}});
  EXPECT_EQ(reach.entries, 2048);
  EXPECT_EQ(reach.bytes, 8 * kMiB);
  EXPECT_THAT(reach.source, HasSubstr("0x80000006"));
}

TEST(TlbReach, ReadsIntelsLargestLevelForSmallPages) {
  const TlbReach reach = reach_of({{{0x18, 0}, {4, 0, 0, 0}},
                                   {{0x18, 1}, {0, 8U << 16 | 1, 32, 2}},       // instructions: 256
                                   {{0x18, 2}, {0, 16U << 16 | 1, 128, 0x43}},  // unified, level 2: 2048
                                   {{0x18, 3}, {0, 4U << 16 | 8, 4096, 3}},     // 1 GiB pages only
                                   {{0x18, 4}, {0, 6U << 16 | 1, 16, 0x24}}});  // loads, level 1: 96
  EXPECT_EQ(reach.entries, 2048);
}

TEST(TlbReach, ReadsIntelsDescriptors) {
  const TlbReach reach = reach_of({{{2, 0}, {0x76036301, 0x00F0B5FF, 0, 0x00C30000}}});
  EXPECT_EQ(reach.entries, 1536);
  EXPECT_THAT(reach.source, HasSubstr("leaf 2"));
}

TEST(TlbReach, IgnoresRegistersWithoutDescriptors) {
  EXPECT_THAT(reach_of({{{2, 0}, {0xC3, 0x800000C3, 0, 0}}}).source, HasSubstr("assumed"));
}

TEST(TlbReach, AssumesAnUsualOneWhereTheMachineDoesNotTell) {
  const TlbReach reach = reach_of({{{2, 0}, {0x00FEFF01, 0xF0, 0, 0}}});
  EXPECT_EQ(reach.entries, 1536);
  EXPECT_EQ(reach.bytes, 6 * kMiB);
  EXPECT_THAT(reach.source, HasSubstr("assumed"));
}

TEST(TlbReach, OfThisMachineIsPlausible) {
  const TlbReach reach = machine_tlb_reach();
  EXPECT_GE(reach.entries, 64);
  EXPECT_LE(reach.entries, 65536);
}

}  // namespace
}  // namespace sluice::memory
