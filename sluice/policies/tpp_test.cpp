// Transparent page placement, on an address space of a few pages drawn by hand.
#include <gtest/gtest.h>

#include "sluice/policies/ask_for_tests.hpp"

namespace sluice::policies {
namespace {

constexpr Bytes kTppPage = 4 * kKiB;

class TppTest : public ::testing::Test {
 protected:
  // Four fast frames, one of which is the headroom.
  void start(BytesPerSecond bandwidth = 0) {
    const PagePolicy& pages = *find_policy("tpp")->pages;
    PolicyTuning tuning = pages.defaults;
    tuning.migration_seconds = 0;
    policy_ = pages.make(two_tiers(4 * kTppPage, 8 * kTppPage, bandwidth, bandwidth), tuning);
  }

  Answer touch(std::int64_t page) {
    return ask(*policy_, {Access{{page * kTppPage, (page + 1) * kTppPage}, true, false}});
  }
  bool is_fast(std::int64_t page) { return touch(page).found_fast > 0; }

  // The time goes on.
  memory::Copied until(Seconds end) {
    const memory::Copied copied = work(*policy_, now_, end);
    now_ = end;
    return copied;
  }

  // Touched in this order, so that there is no room left and page 0 is demoted.
  void touch_first_four() {
    for (const std::int64_t page : {0, 1, 2, 3}) EXPECT_TRUE(is_fast(page));
    EXPECT_EQ(until(0.1), (memory::Copied{0, kTppPage}));
  }

  std::unique_ptr<Policy> policy_;
  Seconds now_ = 0;
};

TEST_F(TppTest, TheOldestPageGoesBeforeRoomIsNeeded) {
  start();
  touch_first_four();
  EXPECT_EQ(until(0.2), memory::Copied{}) << "a free frame is all the headroom there is to be";
  EXPECT_TRUE(is_fast(4)) << "a page touched first finds room";
  EXPECT_FALSE(is_fast(5)) << "until there is none";
  EXPECT_FALSE(is_fast(0));
}

TEST_F(TppTest, WhatWasTouchedSinceHasASecondChance) {
  for (const bool touched : {false, true}) {
    SCOPED_TRACE(touched);
    now_ = 0;
    start();
    touch_first_four();
    if (touched) touch(1);
    touch(4);
    EXPECT_EQ(until(0.2), (memory::Copied{0, kTppPage}));
    EXPECT_EQ(is_fast(1), touched);
    EXPECT_EQ(is_fast(2), !touched) << "it is the next oldest";
  }
}

TEST_F(TppTest, FaultsInTwoPeriodsBringAPageIn) {
  start();
  touch_first_four();
  EXPECT_EQ(touch(0).fault_seconds, 0) << "it is mapped";
  until(1.5);
  const AccessCharge first = touch(0);
  EXPECT_EQ(first.fault_seconds, find_policy("tpp")->pages->defaults.fault_seconds);
  EXPECT_EQ(first.slow_in_all().read, kTppPage) << "and used where it is";
  EXPECT_EQ(touch(0).fault_seconds, 0) << "once a period";
  EXPECT_EQ(until(1.6), memory::Copied{}) << "it has only become active";
  until(2.5);
  EXPECT_FALSE(is_fast(0));
  const memory::Copied work = until(2.6);
  EXPECT_EQ(work.in, kTppPage);
  EXPECT_EQ(work.out, kTppPage) << "for the headroom";
  EXPECT_TRUE(is_fast(0));
  const std::vector<std::pair<std::string, double>> expected{
      {"hint faults", 2}, {"pages promoted", 1}, {"pages demoted", 2}};
  EXPECT_EQ(policy_->figures(), expected);
}

TEST_F(TppTest, CopiesTakeTheLinksTime) {
  start(kTppPage / 0.5);
  for (const std::int64_t page : {0, 1, 2, 3}) touch(page);
  EXPECT_EQ(until(0.49), memory::Copied{});
  EXPECT_TRUE(is_fast(0)) << "it is where it was until it is copied";
  EXPECT_EQ(until(0.51), (memory::Copied{0, kTppPage}));
  EXPECT_FALSE(is_fast(0));
}

}  // namespace
}  // namespace sluice::policies
