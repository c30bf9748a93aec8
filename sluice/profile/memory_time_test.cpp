#include "sluice/profile/memory_time.hpp"

#include <gtest/gtest.h>

namespace sluice::profile {
namespace {

const memory::Tier kFast{.name = "fast", .read_bandwidth = 100, .write_bandwidth = 100, .latency = 1};
const memory::Tier kEmulated{
    .name = "slow", .read_bandwidth = 10, .write_bandwidth = 20, .granule = 256, .latency = 50};

TEST(MemoryTime, ReadsAndWritesGoAtTheirOwnBandwidths) {
  const MemorySeconds seconds = memory_seconds(kEmulated, kFast, 1, {.read = 1000, .written = 400});
  EXPECT_DOUBLE_EQ(seconds.reading, 100);
  EXPECT_DOUBLE_EQ(seconds.writing, 400 * 4 / 20.0 - 400 / 100.0) << "a line costs the granule that it is in";
}

TEST(MemoryTime, ScatteredReadsWaitAsManyAtATimeAsTheCoresCan) {
  EXPECT_DOUBLE_EQ(memory_seconds(kEmulated, kFast, 2, {.scattered = 400}).reading, 400 * 50.0 / 20);
}

TEST(MemoryTime, WritesThatCostNoMoreThanInFastMemoryCostNothing) {
  const memory::Tier like_fast{.name = "like", .read_bandwidth = 100, .write_bandwidth = 200};
  EXPECT_EQ(memory_seconds(like_fast, kFast, 1, {.written = 400}).writing, 0);
}

TEST(MemoryTime, AnUnknownBandwidthCostsNothing) {
  EXPECT_EQ(memory_seconds({}, {}, 1, {.read = 1000, .written = 400}), MemorySeconds{});
}

TEST(MemoryTime, ReadingHidesBehindTheOpAndWritingDoesNot) {
  EXPECT_DOUBLE_EQ(op_seconds_with(5, {.reading = 3, .writing = 2}), 7);
  EXPECT_DOUBLE_EQ(op_seconds_with(5, {.reading = 8, .writing = 2}), 10);
  EXPECT_DOUBLE_EQ(op_seconds_with(5, {}), 5);
}

}  // namespace
}  // namespace sluice::profile
