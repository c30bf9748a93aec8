#include "sluice/profile/training_profile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace sluice::profile {
namespace {

using ::testing::HasSubstr;

constexpr Bytes kCountedPage = 4 * kKiB;
constexpr TrainingProfileOptions kSmallTlb{.threads = 1, .tlb_reach = 32 * kCountedPage};

class Buffer {
 public:
  Buffer(Bytes bytes, const char* name) : bytes_(bytes), data_(allocate_tracked(bytes, name).value()) {}
  ~Buffer() { EXPECT_TRUE(release_tracked(data_).ok()); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void read() const {
    for (Bytes at = 0; at < bytes_; at += 1024) (void)bytes()[at];
  }
  void write() const {
    for (Bytes at = 0; at < bytes_; at += 1024) bytes()[at] = 1;
  }
  volatile char* bytes() const { return static_cast<volatile char*>(data_); }

 private:
  Bytes bytes_;
  void* data_;
};

TEST(TrainingProfile, RecordsLifeAndAccessesOfEveryBuffer) {
  const Buffer weights(40 * kCountedPage, "weights");
  weights.write();
  ASSERT_TRUE(start_profile(kSmallTlb).ok());
  weights.read();
  add_layer();
  {
    const Buffer activation(10 * kCountedPage - 100, "activation");
    activation.write();
    add_layer();
    weights.read();
    activation.read();  // the weights have pushed it out of the TLB
  }
  const Buffer later(5000, "later");
  add_layer();
  const auto profile = end_profile();
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  EXPECT_EQ(profile->layers, 3);
  ASSERT_EQ(profile->buffers.size(), 3U);
  const BufferRecord& first = profile->buffers[0];
  EXPECT_EQ(first.name, "weights");
  EXPECT_EQ(first.bytes, 40 * kCountedPage);
  EXPECT_EQ(first.first_layer, 0);
  EXPECT_EQ(first.end_layer, 3);
  EXPECT_EQ(first.reads, 80);
  EXPECT_EQ(first.writes, 0);
  EXPECT_DOUBLE_EQ(first.accesses_per_page(), 2);
  const BufferRecord& second = profile->buffers[1];
  EXPECT_EQ(second.first_layer, 1);
  EXPECT_EQ(second.end_layer, 3);
  EXPECT_EQ(second.pages(), 10);
  EXPECT_EQ(second.reads, 10);
  EXPECT_EQ(second.writes, 10);
  const BufferRecord& third = profile->buffers[2];
  EXPECT_EQ(third.first_layer, 2);
  EXPECT_EQ(third.end_layer, 3);
  EXPECT_EQ(third.reads + third.writes, 0);
  EXPECT_GT(profile->seconds, 0);
}

TEST(TrainingProfile, BuffersAreZeroAndOnPagesOfTheirOwn) {
  const Buffer first(1, "first");
  const Buffer second(1, "second");
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first.bytes()) % kCountedPage, 0U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(second.bytes()) % kCountedPage, 0U);
  EXPECT_NE(first.bytes(), second.bytes());
  EXPECT_EQ(first.bytes()[kCountedPage - 1], 0);
}

TEST(TrainingProfile, AProfileStartsAfresh) {
  const Buffer buffer(kCountedPage, "buffer");
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(start_profile(kSmallTlb).ok());
    buffer.write();
    add_layer();
    const auto profile = end_profile();
    ASSERT_TRUE(profile.ok());
    EXPECT_EQ(profile->layers, 1);
    EXPECT_EQ(profile->buffers.at(0).writes, 1);
  }
}

// A TLB that holds all 800 pages: a thread may lose the processor in the middle of a page, and would find it closed.
TEST(TrainingProfile, ThreadsMayAllocateAndRelease) {
  ASSERT_TRUE(start_profile({.threads = 4, .tlb_reach = 1024 * kCountedPage}).ok());
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([] {
        for (int round = 0; round < 50; ++round) {
          const Buffer buffer(4 * kCountedPage, "scratch");
          buffer.write();
        }
      });
    }
  }
  const auto profile = end_profile();
  ASSERT_TRUE(profile.ok());
  ASSERT_EQ(profile->buffers.size(), 200U);
  for (const BufferRecord& buffer : profile->buffers) EXPECT_EQ(buffer.writes, 4);
}

TEST(TrainingProfile, RefusesWhatMakesNoSense) {
  EXPECT_EQ(end_profile().error().code, ErrorCode::kBadInput);
  EXPECT_EQ(allocate_tracked(0, "nothing").error().code, ErrorCode::kBadInput);
  EXPECT_EQ(allocate_tracked(Bytes{1} << 60, "all").error().code, ErrorCode::kOutOfSpace);
  int elsewhere = 0;
  EXPECT_EQ(release_tracked(&elsewhere).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(start_profile({.threads = 0}).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(start_profile({.threads = 1, .tlb_reach = 100}).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(start_profile({.threads = 1, .tlb_reach = kMiB, .largest_chunk = 5000}).error().code, ErrorCode::kBadInput);
  ASSERT_TRUE(start_profile().ok());
  const Status second = start_profile();
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, HasSubstr("end_profile()"));
  EXPECT_TRUE(end_profile().ok());
}

}  // namespace
}  // namespace sluice::profile
