// First touch and the active lists, on address spaces of a few pages drawn by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/policies/active_lists.hpp"
#include "sluice/policies/ask_for_tests.hpp"
#include "sluice/policies/policy.hpp"

namespace sluice::policies {
namespace {

constexpr Bytes kPage = 4 * kKiB;

Access read(Interval<Bytes> bytes) { return {bytes, true, false}; }
Access write(Interval<Bytes> bytes) { return {bytes, false, true}; }
Access read_page(PageIndex page) { return read({page * kPage, (page + 1) * kPage}); }

Answer access(Policy& policy, Access one, Seconds now = 0) { return ask(policy, {one}, now); }

PolicyMemory memory_of(PageIndex frames, PageIndex pages) { return two_tiers(frames * kPage, pages * kPage); }

TEST(FirstTouch, TheFirstPagesTouchedStayFast) {
  const auto policy = find_policy("numa-first-touch")->pages->make(memory_of(2, 4), {});
  EXPECT_EQ(access(*policy, read_page(3)).found_fast, kPage);
  // Half of page 0, which gets the last frame, and half of page 1, which gets none.
  const Answer both = access(*policy, {{kPage / 2, 3 * kPage / 2}, true, true});
  EXPECT_EQ(both.requested, kPage);
  EXPECT_EQ(both.found_fast, kPage / 2);
  EXPECT_EQ(both.operands, 1);
  EXPECT_EQ(both.operands_found, 0);
  EXPECT_EQ(both.slow_in_all().read, kPage / 2);
  EXPECT_EQ(both.slow_in_all().written, kPage / 2);
  EXPECT_EQ(access(*policy, write({0, kPage})).slow_in_all().written, 0);
  EXPECT_EQ(access(*policy, write({kPage, 2 * kPage})).slow_in_all().written, kPage);
  EXPECT_EQ(access(*policy, read_page(2)).slow_in_all().read, kPage);
  EXPECT_EQ(work(*policy, 0, 100), memory::Copied{});
}

// Tensors that share a page: what is small and used all the time is slow because the page was touched late.
TEST(FirstTouch, ATensorSharesTheFateOfItsPage) {
  const auto policy = find_policy("numa-first-touch")->pages->make(memory_of(1, 2), {});
  access(*policy, write({0, 100}));
  access(*policy, write({kPage + 200, 2 * kPage}));
  EXPECT_EQ(access(*policy, read({100, 200})).found_fast, 100);
  EXPECT_EQ(access(*policy, read({kPage, kPage + 200})).slow_in_all().read, 200);
}

// The nearest tier with room: two pages fast, one in the next tier, the rest in the last one.
TEST(FirstTouch, GoesThroughTheTiersInOrder) {
  PolicyMemory tiers = memory_of(2, 6);
  tiers.rooms = {2 * kPage, kPage, kPage};
  const auto policy = find_policy("numa-first-touch")->pages->make(tiers, {});
  const Answer answer = access(*policy, read({0, 5 * kPage}));
  using memory::RangeMove;
  EXPECT_THAT(answer.moves.moves(), ::testing::ElementsAre(RangeMove{{0, 2 * kPage}, memory::kUntouched, 0},
                                                           RangeMove{{2 * kPage, 3 * kPage}, memory::kUntouched, 1},
                                                           RangeMove{{3 * kPage, 5 * kPage}, memory::kUntouched, 2}));
  ASSERT_EQ(answer.slow.size(), 3U);
  EXPECT_EQ(answer.slow[1].read, kPage);
  EXPECT_EQ(answer.slow[2].read, 2 * kPage);
  EXPECT_TRUE(access(*policy, read({0, 5 * kPage})).moves.empty());
}

struct Lists {
  explicit Lists(PageIndex frames, PageIndex pages, bool exchange = true, BytesPerSecond in = 0, BytesPerSecond out = 0,
                 PolicyTuning tuning = {.scan_period = 1, .concurrent_migrations = 1, .migration_seconds = 0})
      : policy(two_tiers(frames * kPage, pages * kPage, in, out), tuning, exchange) {}

  void touch(std::initializer_list<PageIndex> pages) {
    for (const PageIndex page : pages) access(policy, read_page(page));
  }
  ActiveLists::List of(PageIndex page) const { return policy.list_of(page); }

  ActiveLists policy;
};

TEST(ActiveLists, NewPagesAreInactive) {
  Lists lists(2, 4);
  lists.touch({0, 1, 2});
  EXPECT_EQ(lists.of(0), ActiveLists::kFastInactive);
  EXPECT_EQ(lists.of(1), ActiveLists::kFastInactive);
  EXPECT_EQ(lists.of(2), ActiveLists::kSlowInactive);
  EXPECT_EQ(lists.of(3), ActiveLists::kNowhere);
}

TEST(ActiveLists, APassActivatesWhatWasTouchedAndAgesTheRest) {
  Lists lists(2, 3);
  lists.touch({0, 1, 2});
  work(lists.policy, 0, 0.99);  // before the pass
  EXPECT_EQ(lists.of(0), ActiveLists::kFastInactive);
  EXPECT_EQ(work(lists.policy, 1, 1.5), memory::Copied{});  // all active: nobody gives way to page 2
  EXPECT_EQ(lists.of(0), ActiveLists::kFastActive);
  EXPECT_EQ(lists.of(1), ActiveLists::kFastActive);
  EXPECT_EQ(lists.of(2), ActiveLists::kSlowActive);
  lists.touch({1, 2});
  // The next pass is due a second after the last one began. Page 0 was not touched: page 2 takes its place.
  EXPECT_EQ(work(lists.policy, 1.5, 1.99), memory::Copied{});
  EXPECT_EQ(work(lists.policy, 1.99, 2.5), (memory::Copied{kPage, kPage}));
  EXPECT_EQ(lists.of(0), ActiveLists::kSlowInactive);
  EXPECT_EQ(lists.of(1), ActiveLists::kFastActive);
  EXPECT_EQ(lists.of(2), ActiveLists::kFastActive);
  EXPECT_EQ(access(lists.policy, read_page(2)).found_fast, kPage);
  EXPECT_EQ(access(lists.policy, read_page(0)).slow_in_all().read, kPage);
}

TEST(ActiveLists, WhoeverWasThereFirstGoesAndComesFirst) {
  Lists lists(2, 5);
  lists.touch({0, 1, 2, 3, 4});
  work(lists.policy, 1, 1.5);
  lists.touch({4, 3});  // 2 is not touched; list order is 3, 4 all the same
  work(lists.policy, 2, 2.5);
  EXPECT_EQ(lists.of(3), ActiveLists::kFastActive);
  EXPECT_EQ(lists.of(4), ActiveLists::kFastActive);
  lists.touch({2});
  work(lists.policy, 3, 3.5);  // 3 and 4 are inactive now; 3 was first
  EXPECT_EQ(lists.of(2), ActiveLists::kFastActive);
  EXPECT_EQ(lists.of(3), ActiveLists::kSlowInactive);
  EXPECT_EQ(lists.of(4), ActiveLists::kFastInactive);
}

// 4,096 bytes at 4,096 bytes/s in and 8,192 bytes/s out: an exchange takes 1 s, one way after the other 1.5 s.
TEST(ActiveLists, MovesTakeTheTimeOfTheLink) {
  const PolicyTuning tuning{.scan_period = 10, .migration_seconds = 0.25};
  for (const bool exchange : {true, false}) {
    SCOPED_TRACE(exchange);
    Lists lists(1, 2, exchange, kPage, 2 * kPage, tuning);
    lists.touch({0, 1});
    work(lists.policy, 0, 11);
    lists.touch({1});
    const Seconds done = 20 + (exchange ? 1.25 : 1.75);
    EXPECT_EQ(work(lists.policy, 20, 21), memory::Copied{});
    EXPECT_EQ(work(lists.policy, 21, done - 0.01), memory::Copied{});
    EXPECT_EQ(access(lists.policy, read_page(1)).slow_in_all().read, kPage);
    EXPECT_EQ(work(lists.policy, done - 0.01, done + 0.01), (memory::Copied{kPage, kPage}));
    EXPECT_EQ(access(lists.policy, read_page(1)).found_fast, kPage);
  }
}

TEST(ActiveLists, ManyPagesShareTheCostOfUnmapping) {
  const PolicyTuning tuning{.scan_period = 10, .concurrent_migrations = 2, .migration_seconds = 1};
  Lists lists(2, 4, true, kPage, kPage, tuning);
  lists.touch({0, 1, 2, 3});
  work(lists.policy, 0, 11);
  lists.touch({2, 3});
  EXPECT_EQ(work(lists.policy, 20, 22.99), memory::Copied{});  // two exchanges of 1 s, and 1 s for both
  EXPECT_EQ(work(lists.policy, 22.99, 23.01), (memory::Copied{2 * kPage, 2 * kPage}));
}

TEST(ActiveLists, ThreadsLimitTheSpeedOfCopies) {
  PolicyTuning tuning{.scan_period = 10, .copy_threads = 2, .copy_thread_bandwidth = kPage, .migration_seconds = 0};
  Lists lists(1, 2, true, 100 * kPage, 100 * kPage, tuning);
  lists.touch({0, 1});
  work(lists.policy, 0, 11);
  lists.touch({1});
  EXPECT_EQ(work(lists.policy, 20, 20.49), memory::Copied{});
  EXPECT_EQ(work(lists.policy, 20.49, 20.51), (memory::Copied{kPage, kPage}));
}

// Passes longer than a step find everything touched: nothing is ever inactive, and nothing moves.
TEST(ActiveLists, APassSlowerThanTheStepSeesOnlyActivePages) {
  Lists lists(2, 4);
  for (int pass = 1; pass < 6; ++pass) {
    for (int step = 0; step < 3; ++step) lists.touch({0, 1, 2, 3});
    EXPECT_EQ(work(lists.policy, pass, pass + 0.9), memory::Copied{});
  }
  EXPECT_EQ(lists.of(0), ActiveLists::kFastActive);
  EXPECT_EQ(lists.of(3), ActiveLists::kSlowActive);
}

}  // namespace
}  // namespace sluice::policies
