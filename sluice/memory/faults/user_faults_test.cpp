#include "sluice/memory/faults/user_faults.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/arena.hpp"

namespace sluice::memory {
namespace {

constexpr Bytes kPart = 2 * kMiB;

std::byte* pages(Bytes bytes) { return map_aligned(bytes, PROT_READ | PROT_WRITE, MAP_NORESERVE); }

// One part of watched memory, one beside it to show there, and a thread that answers every touch.
class UserFaultsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = UserFaults::open();
    if (!opened.ok()) GTEST_SKIP() << opened.error().message;
    faults_.emplace(std::move(opened).value());
    watched_ = pages(kPart);
    beside_ = pages(kPart);
    std::memset(beside_, 7, as_index(kPart));
    ASSERT_TRUE(faults_->watch(watched_, kPart).ok());
    answering_ = std::thread([this] {
      while (const auto touched = faults_->next()) {
        EXPECT_GE(*touched, watched_);
        faults_->show(watched_, beside_, kPart);
        ++touches_;
        faults_->wake(watched_, kPart);
      }
    });
  }
  void TearDown() override {
    if (!faults_) return;
    faults_->stop();
    if (answering_.joinable()) answering_.join();
    ::munmap(watched_, as_index(kPart));
    ::munmap(beside_, as_index(kPart));
  }

  std::optional<UserFaults> faults_;
  std::byte* watched_ = nullptr;
  std::byte* beside_ = nullptr;
  std::thread answering_;
  std::atomic<int> touches_{0};
};

TEST_F(UserFaultsTest, WhoTouchesAMissingPageHasItAndAgainWhenItWasTakenBack) {
  for (int round = 1; round <= 3; ++round) {
    EXPECT_EQ(static_cast<int>(*static_cast<volatile std::byte*>(watched_ + kPart - 1)), 7);
    EXPECT_EQ(touches_, round);
    EXPECT_EQ(static_cast<int>(*static_cast<volatile std::byte*>(watched_)), 7);
    EXPECT_EQ(touches_, round) << "all of it is there";
    faults_->take_back(watched_, beside_, kPart);
    EXPECT_EQ(static_cast<int>(beside_[kPart / 2]), 7);
    beside_[0] = std::byte{7};  // it may be written there
  }
}

TEST_F(UserFaultsTest, ReadersMeetNothingElseWhilePagesComeAndGo) {
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&, reader] {
      for (Bytes at = reader; !done; at = (at + 4099) % kPart) {
        if (static_cast<volatile std::byte*>(watched_)[at] != std::byte{7}) ++wrong;
      }
    });
  }
  while (touches_ == 0) std::this_thread::yield();
  for (int round = 0; round < 300; ++round) {
    const int before = touches_;
    faults_->take_back(watched_, beside_, kPart);
    while (touches_ == before) std::this_thread::yield();
    std::this_thread::yield();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  done = true;
  for (auto& each : readers) each.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace sluice::memory
