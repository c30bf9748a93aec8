// The cache against cases counted by hand.
#include "sluice/profile/cache_model.hpp"

#include <gtest/gtest.h>

#include <array>

#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/tiny_step.hpp"

namespace sluice::profile {
namespace {

CacheUse read(graph::TensorId tensor, Bytes bytes) { return {.tensor = tensor, .bytes = bytes, .reads = true}; }
CacheUse write(graph::TensorId tensor, Bytes bytes) { return {.tensor = tensor, .bytes = bytes, .writes = true}; }

TEST(CacheModel, FetchesWhatItDoesNotHold) {
  CacheModel cache(1000);
  EXPECT_DOUBLE_EQ(cache.traffic(cache.run(std::array{read(0, 400)})).read, 400);
  EXPECT_DOUBLE_EQ(cache.traffic(cache.run(std::array{read(0, 400)})).read, 0);
  cache.run(std::array{read(1, 800)});  // leaves 200 of tensor 0
  EXPECT_DOUBLE_EQ(cache.traffic(cache.run(std::array{read(0, 400)})).read, 200);
}

TEST(CacheModel, WritesFetchTheirLinesAndGoBackWhenPushedOut) {
  CacheModel cache(1000);
  const std::size_t written = cache.run(std::array{write(0, 400)});
  EXPECT_DOUBLE_EQ(cache.traffic(written).read, 400);
  EXPECT_DOUBLE_EQ(cache.traffic(written).written, 0) << "still in the cache";
  cache.run(std::array{read(1, 800)});
  EXPECT_DOUBLE_EQ(cache.traffic(written).written, 200);
  cache.run(std::array{read(2, 1000)});
  EXPECT_DOUBLE_EQ(cache.traffic(written).written, 400) << "charged to the op that wrote it";
}

TEST(CacheModel, WhatIsWrittenAgainInTheCacheHasCostNothing) {
  CacheModel cache(1000);
  const std::size_t first = cache.run(std::array{write(0, 400)});
  const std::size_t second = cache.run(std::array{write(0, 400)});
  cache.run(std::array{read(1, 1000)});
  EXPECT_DOUBLE_EQ(cache.traffic(first).written, 0);
  EXPECT_DOUBLE_EQ(cache.traffic(second).written, 400);
}

TEST(CacheModel, AnOpLargerThanTheCacheLeavesOfEachItsShare) {
  CacheModel cache(1000);
  const std::size_t record = cache.run(std::array{read(0, 3000), write(1, 1000)});
  EXPECT_DOUBLE_EQ(cache.traffic(record).read, 3000);
  EXPECT_DOUBLE_EQ(cache.traffic(record + 1).written, 750);
  EXPECT_DOUBLE_EQ(cache.traffic(cache.run(std::array{read(1, 1000)})).read, 750);
}

TEST(CacheModel, FurtherSweepsFetchWhatTheOpPushesOut) {
  CacheModel cache(1000);
  CacheUse thrice = read(0, 2000);
  thrice.sweeps = 3;
  EXPECT_DOUBLE_EQ(cache.traffic(cache.run(std::array{thrice})).read, 2000 + 2 * 1000);
  CacheUse fits = read(1, 500);
  fits.sweeps = 3;
  EXPECT_DOUBLE_EQ(cache.traffic(cache.run(std::array{fits})).read, 500);
}

TEST(CacheModel, AnOpThatPushesOutItsOwnOperandsDoesNotFindThem) {
  CacheModel cache(1000);
  cache.run(std::array{read(0, 1000)});
  EXPECT_DOUBLE_EQ(cache.traffic(cache.run(std::array{read(1, 1000), read(0, 1000)}) + 1).read, 1000);
}

TEST(CacheModel, ANewTensorTakesTheLinesOfADeadOne) {
  CacheModel cache(1000);
  CacheUse last = write(0, 400);
  last.last = true;
  const std::size_t dead = cache.run(std::array{last});
  CacheUse first = write(1, 300);
  first.first = true;
  EXPECT_DOUBLE_EQ(cache.traffic(cache.run(std::array{first})).read, 0);
  cache.run(std::array{read(2, 1000)});
  EXPECT_DOUBLE_EQ(cache.traffic(dead).written, 100) << "nobody has written over the rest";
}

TEST(OpTraffic, WithoutCachesEveryOperandPasses) {
  const testing::TinyStep step = testing::tiny_step();
  const OpTraffic traffic(step.graph, 0);
  const MemoryTraffic all = traffic.in_tier(step.graph, 3, std::vector<memory::TierId>{1, 1, 1}, 1);  // x, n -> loss
  EXPECT_DOUBLE_EQ(all.read, 8000 + 4096 + 4);
  EXPECT_DOUBLE_EQ(all.written, 4);
  const MemoryTraffic in_place = traffic.in_tier(step.graph, 4, std::vector<memory::TierId>{1, 0, 1}, 1);  // w, x -> w
  EXPECT_DOUBLE_EQ(in_place.read, 4096) << "once, though it is input and output";
  EXPECT_DOUBLE_EQ(in_place.written, 4096);
}

TEST(OpTraffic, IsNoneWhereAllFits) {
  const testing::TinyStep step = testing::tiny_step();
  const OpTraffic traffic(step.graph, kMiB);
  for (graph::OpIndex op = 0; op < step.graph.op_count(); ++op) {
    for (const MemoryTraffic& each : traffic.of(op)) EXPECT_EQ(each, MemoryTraffic{});
  }
}

// A larger cache never lets more bytes of a step pass.
TEST(OpTraffic, FallsWithTheCache) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const graph::Graph graph = testing::random_graph(seed);
    double before = 1e300;
    for (Bytes cache = 0; cache <= 64 * kMiB; cache = cache * 4 + 64 * kKiB) {
      const OpTraffic traffic(graph, cache);
      MemoryTraffic step;
      for (graph::OpIndex op = 0; op < graph.op_count(); ++op) {
        for (const MemoryTraffic& each : traffic.of(op)) step += each;
      }
      EXPECT_GE(step.read, 0);
      EXPECT_GE(step.written, 0);
      EXPECT_LE(step.read + step.written, before * 1.0001) << "seed " << seed << ", cache " << cache;
      before = step.read + step.written;
    }
  }
}

}  // namespace
}  // namespace sluice::profile
