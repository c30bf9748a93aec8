#include "sluice/profile/cache_inventory.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "sluice/profile/profile_cache.hpp"

namespace sluice::profile {
namespace {

class CacheInventoryTest : public ::testing::Test {
 protected:
  CacheInventoryTest() {
    std::string pattern = (std::filesystem::path(::testing::TempDir()) / "sluice-inventory-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  ~CacheInventoryTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::filesystem::path folder_;
};

TEST_F(CacheInventoryTest, ProfilesAreOfThisMachineOrOfAnother) {
  for (const char* machine : {"this", "another"}) {
    ProfileCache cache = ProfileCache::open(machine, folder_);
    cache.put_op("conv", {{1, 1, 1, 3}, {2, 2, 2, 3}});
    ASSERT_TRUE(cache.save().ok());
  }
  std::ofstream(folder_ / "accesses-x.json") << "counts";
  const CacheInventory inventory = read_cache_inventory(folder_, {"this", "this with one thread"});
  ASSERT_EQ(inventory.profiles.size(), 2U);
  EXPECT_TRUE(inventory.writable);
  std::size_t own = 0;
  for (const CachedProfile& each : inventory.profiles) {
    EXPECT_FALSE(each.stale());
    EXPECT_LT(each.days, 1);
    own += each.of_this_machine ? each.ops : 0;
    if (!each.of_this_machine) {
      EXPECT_EQ(each.ops, 0U);
    }
  }
  EXPECT_EQ(own, 1U);
  EXPECT_GT(inventory.bytes, inventory.profiles[0].bytes + inventory.profiles[1].bytes);
}

TEST_F(CacheInventoryTest, OldAndDamagedFilesAreStale) {
  std::ofstream(ProfileCache::path_for("this", folder_)) << R"({"ops": {}, "version": 1})";
  std::ofstream(folder_ / "profile-b.json") << "no JSON";
  std::ofstream(ProfileCache::path_for("that", folder_))
      << "{\n \"ops\": [,\n \"version\": " << kCacheFormatVersion << "\n}\n";
  const CacheInventory inventory = read_cache_inventory(folder_, {"this", "that"});
  ASSERT_EQ(inventory.profiles.size(), 3U);
  for (const CachedProfile& each : inventory.profiles) EXPECT_TRUE(each.stale()) << each.path;
}

TEST_F(CacheInventoryTest, AFolderThatIsNotThereCouldBeMade) {
  const CacheInventory inventory = read_cache_inventory(folder_ / "a" / "b", {"this"});
  EXPECT_FALSE(inventory.exists);
  EXPECT_TRUE(inventory.writable);
}

}  // namespace
}  // namespace sluice::profile
