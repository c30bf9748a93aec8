#include "sluice/doctor/read_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/doctor/read_storage.hpp"

namespace sluice::doctor {
namespace {

TEST(ReadHostTest, ThisHostHasWhatEveryHostHas) {
  const HostFacts facts = read_host({::testing::TempDir(), "/no/such/cache"});
  EXPECT_THAT(facts.kernel.release, ::testing::MatchesRegex("[0-9]+\\.[0-9]+.*"));
  EXPECT_GE(facts.processors.online, facts.processors.allowed);
  EXPECT_GE(facts.processors.allowed, 1);
  EXPECT_GE(facts.processors.busy, 0);
  EXPECT_LE(facts.processors.busy, facts.processors.online);
  EXPECT_GT(facts.memory.available, 0);
  EXPECT_GT(facts.memory.total, facts.memory.available);
  EXPECT_GT(facts.storage.free, 0);
  EXPECT_GT(facts.storage.read, 0);
  EXPECT_GT(facts.storage.write, 0);
  EXPECT_THAT(facts.onednn.version, ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_FALSE(facts.cache.exists);
}

TEST(ReadHostTest, AFolderThatCannotBeUsedSaysWhy) {
  EXPECT_THAT(read_storage("/no/such/folder/").failure, ::testing::HasSubstr("cannot put the spill file"));
}

}  // namespace
}  // namespace sluice::doctor
