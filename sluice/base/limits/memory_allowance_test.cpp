#include "sluice/base/limits/memory_allowance.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::testing::HasSubstr;

TEST(MemoryAllowance, IsTheMachinesWhereNothingLimitsIt) {
  const MemoryAllowance allowance = allowance_of({.machine = 8 * kGiB, .swap = 2 * kGiB});
  EXPECT_EQ(allowance.bytes, 8 * kGiB);
  EXPECT_EQ(allowance.with_swap, 10 * kGiB);
  EXPECT_EQ(allowance.by, "");
}

TEST(MemoryAllowance, AGroupLeavesWhatTheProgramDoesNotTakeItself) {
  MemoryFigures figures{.machine = 8 * kGiB, .swap = 0, .group = {.memory = 200 * kMiB}};
  const MemoryAllowance allowance = allowance_of(figures);
  EXPECT_EQ(allowance.bytes, 104 * kMiB);
  EXPECT_EQ(allowance.with_swap, 104 * kMiB);
  EXPECT_THAT(allowance.by, HasSubstr("control group, which allows 200.0 MiB"));
  figures.group.memory = 50 * kMiB;
  EXPECT_EQ(allowance_of(figures).bytes, 0);
}

TEST(MemoryAllowance, AGroupMaySwapAsMuchAsItAndTheMachineHave) {
  MemoryFigures figures{.machine = 8 * kGiB, .swap = 2 * kGiB, .group = {.memory = kGiB}};
  EXPECT_EQ(allowance_of(figures).bytes, 3 * kGiB - kOwnMemory);
  figures.group.swap = kGiB;
  EXPECT_EQ(allowance_of(figures).bytes, 2 * kGiB - kOwnMemory);
  figures.group.swap = 0;
  EXPECT_EQ(allowance_of(figures).bytes, kGiB - kOwnMemory);
}

TEST(MemoryAllowance, ALimitAboveTheMachinesMemoryLimitsNothing) {
  EXPECT_EQ(allowance_of({.machine = 8 * kGiB, .group = {.memory = 64 * kGiB}, .addresses = 99 * kGiB}).by, "");
}

TEST(MemoryAllowance, TheTightestLimitCounts) {
  const MemoryFigures figures{
      .machine = 8 * kGiB, .group = {.memory = 4 * kGiB}, .addresses = 2 * kGiB, .addresses_taken = kGiB};
  EXPECT_EQ(allowance_of(figures).bytes, kGiB - kOwnAddresses);
  EXPECT_THAT(allowance_of(figures).by, HasSubstr("ulimit -v, which allows 2.00 GiB of addresses"));
}

TEST(MemoryAllowance, OfThisProcessIsSome) {
  EXPECT_GT(memory_allowance().bytes, 0);
  EXPECT_GE(memory_allowance().with_swap, memory_allowance().bytes);
}

}  // namespace
}  // namespace sluice
