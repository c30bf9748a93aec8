#include "sluice/data/epoch_order.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace sluice::data {
namespace {

std::vector<std::int64_t> epoch_of(std::uint64_t seed, std::int64_t epoch, std::int64_t count) {
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < count; ++i) order.push_back(sample_at(seed, epoch * count + i, count));
  return order;
}

TEST(EpochOrderTest, EveryEpochVisitsEverySampleOnce) {
  for (const std::int64_t count : {1, 2, 3, 7, 64, 100, 4096, 50000}) {
    for (const std::int64_t epoch : {0, 1, 5}) {
      const auto order = epoch_of(3, epoch, count);
      const std::set<std::int64_t> seen(order.begin(), order.end());
      EXPECT_EQ(std::ssize(seen), count);
      EXPECT_EQ(*seen.begin(), 0);
      EXPECT_EQ(*seen.rbegin(), count - 1);
    }
  }
}

TEST(EpochOrderTest, EpochsAndSeedsDiffer) {
  EXPECT_NE(epoch_of(3, 0, 100), epoch_of(3, 1, 100));
  EXPECT_NE(epoch_of(3, 0, 100), epoch_of(4, 0, 100));
  EXPECT_EQ(epoch_of(3, 2, 100), epoch_of(3, 2, 100));
}

TEST(EpochOrderTest, OrderLooksShuffled) {
  const auto order = epoch_of(1, 0, 4096);
  int neighbours = 0;
  for (std::size_t i = 1; i < order.size(); ++i) neighbours += order[i] == order[i - 1] + 1 ? 1 : 0;
  EXPECT_LT(neighbours, 20);  // about one is expected of a random permutation
}

}  // namespace
}  // namespace sluice::data
