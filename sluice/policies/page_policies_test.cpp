// First touch and the active lists, on address spaces of a few pages drawn by hand.
#include <gtest/gtest.h>

#include <array>

#include "sluice/policies/active_lists.hpp"
#include "sluice/policies/policy.hpp"

namespace sluice::policies {
namespace {

constexpr Bytes kPage = 4 * kKiB;

Access read(Interval<Bytes> bytes) { return {bytes, true, false}; }
Access write(Interval<Bytes> bytes) { return {bytes, false, true}; }
Access read_page(PageIndex page) { return read({page * kPage, (page + 1) * kPage}); }

AccessCharge access(Policy& policy, Access one, Seconds now = 0) { return policy.access(std::array{one}, now); }

PolicyMemory memory_of(PageIndex frames, PageIndex pages) {
  return {.fast_bytes = frames * kPage, .address_bytes = pages * kPage, .bandwidth_in = 0, .bandwidth_out = 0};
}

TEST(FirstTouch, TheFirstPagesTouchedStayFast) {
  const auto policy = find_policy("numa-first-touch")->pages->make(memory_of(2, 4), {});
  EXPECT_EQ(access(*policy, read_page(3)).found_fast, kPage);
  // Half of page 0, which gets the last frame, and half of page 1, which gets none.
  const AccessCharge both = access(*policy, {{kPage / 2, 3 * kPage / 2}, true, true});
  EXPECT_EQ(both.requested, kPage);
  EXPECT_EQ(both.found_fast, kPage / 2);
  EXPECT_EQ(both.operands, 1);
  EXPECT_EQ(both.operands_found, 0);
  EXPECT_EQ(both.slow_read, kPage / 2);
  EXPECT_EQ(both.slow_written, kPage / 2);
  EXPECT_EQ(access(*policy, write({0, kPage})).slow_written, 0);
  EXPECT_EQ(access(*policy, write({kPage, 2 * kPage})).slow_written, kPage);
  EXPECT_EQ(access(*policy, read_page(2)).slow_read, kPage);
  EXPECT_EQ(policy->advance(0, 100), BackgroundWork{});
}

// Tensors that share a page: what is small and used all the time is slow because the page was touched late.
TEST(FirstTouch, ATensorSharesTheFateOfItsPage) {
  const auto policy = find_policy("numa-first-touch")->pages->make(memory_of(1, 2), {});
  access(*policy, write({0, 100}));
  access(*policy, write({kPage + 200, 2 * kPage}));
  EXPECT_EQ(access(*policy, read({100, 200})).found_fast, 100);
  EXPECT_EQ(access(*policy, read({kPage, kPage + 200})).slow_read, 200);
}

struct Lists {
  explicit Lists(PageIndex frames, PageIndex pages, bool exchange = true, PolicyMemory memory = {},
                 PolicyTuning tuning = {.scan_period = 1, .concurrent_migrations = 1, .migration_seconds = 0})
      : policy(
            [&] {
              memory.fast_bytes = frames * kPage;
              memory.address_bytes = pages * kPage;
              return memory;
            }(),
            tuning, exchange) {}

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
  lists.policy.advance(0, 0.99);  // before the pass
  EXPECT_EQ(lists.of(0), ActiveLists::kFastInactive);
  EXPECT_EQ(lists.policy.advance(1, 1.5), BackgroundWork{});  // all active: nobody gives way to page 2
  EXPECT_EQ(lists.of(0), ActiveLists::kFastActive);
  EXPECT_EQ(lists.of(1), ActiveLists::kFastActive);
  EXPECT_EQ(lists.of(2), ActiveLists::kSlowActive);
  lists.touch({1, 2});
  // The next pass is due a second after the last one began. Page 0 was not touched: page 2 takes its place.
  EXPECT_EQ(lists.policy.advance(1.5, 1.99), BackgroundWork{});
  EXPECT_EQ(lists.policy.advance(1.99, 2.5), (BackgroundWork{kPage, kPage}));
  EXPECT_EQ(lists.of(0), ActiveLists::kSlowInactive);
  EXPECT_EQ(lists.of(1), ActiveLists::kFastActive);
  EXPECT_EQ(lists.of(2), ActiveLists::kFastActive);
  EXPECT_EQ(access(lists.policy, read_page(2)).found_fast, kPage);
  EXPECT_EQ(access(lists.policy, read_page(0)).slow_read, kPage);
}

TEST(ActiveLists, WhoeverWasThereFirstGoesAndComesFirst) {
  Lists lists(2, 5);
  lists.touch({0, 1, 2, 3, 4});
  lists.policy.advance(1, 1.5);
  lists.touch({4, 3});  // 2 is not touched; list order is 3, 4 all the same
  lists.policy.advance(2, 2.5);
  EXPECT_EQ(lists.of(3), ActiveLists::kFastActive);
  EXPECT_EQ(lists.of(4), ActiveLists::kFastActive);
  lists.touch({2});
  lists.policy.advance(3, 3.5);  // 3 and 4 are inactive now; 3 was first
  EXPECT_EQ(lists.of(2), ActiveLists::kFastActive);
  EXPECT_EQ(lists.of(3), ActiveLists::kSlowInactive);
  EXPECT_EQ(lists.of(4), ActiveLists::kFastInactive);
}

// 4,096 bytes at 4,096 bytes/s in and 8,192 bytes/s out: an exchange takes 1 s, one way after the other 1.5 s.
TEST(ActiveLists, MovesTakeTheTimeOfTheLink) {
  const PolicyMemory memory{.bandwidth_in = kPage, .bandwidth_out = 2 * kPage};
  const PolicyTuning tuning{.scan_period = 10, .migration_seconds = 0.25};
  for (const bool exchange : {true, false}) {
    SCOPED_TRACE(exchange);
    Lists lists(1, 2, exchange, memory, tuning);
    lists.touch({0, 1});
    lists.policy.advance(0, 11);
    lists.touch({1});
    const Seconds done = 20 + (exchange ? 1.25 : 1.75);
    EXPECT_EQ(lists.policy.advance(20, 21), BackgroundWork{});
    EXPECT_EQ(lists.policy.advance(21, done - 0.01), BackgroundWork{});
    EXPECT_EQ(access(lists.policy, read_page(1)).slow_read, kPage);
    EXPECT_EQ(lists.policy.advance(done - 0.01, done + 0.01), (BackgroundWork{kPage, kPage}));
    EXPECT_EQ(access(lists.policy, read_page(1)).found_fast, kPage);
  }
}

TEST(ActiveLists, ManyPagesShareTheCostOfUnmapping) {
  const PolicyMemory memory{.bandwidth_in = kPage, .bandwidth_out = kPage};
  const PolicyTuning tuning{.scan_period = 10, .concurrent_migrations = 2, .migration_seconds = 1};
  Lists lists(2, 4, true, memory, tuning);
  lists.touch({0, 1, 2, 3});
  lists.policy.advance(0, 11);
  lists.touch({2, 3});
  EXPECT_EQ(lists.policy.advance(20, 22.99), BackgroundWork{});  // two exchanges of 1 s, and 1 s for both
  EXPECT_EQ(lists.policy.advance(22.99, 23.01), (BackgroundWork{2 * kPage, 2 * kPage}));
}

TEST(ActiveLists, ThreadsLimitTheSpeedOfCopies) {
  const PolicyMemory memory{.bandwidth_in = 100 * kPage, .bandwidth_out = 100 * kPage};
  PolicyTuning tuning{.scan_period = 10, .copy_threads = 2, .copy_thread_bandwidth = kPage, .migration_seconds = 0};
  Lists lists(1, 2, true, memory, tuning);
  lists.touch({0, 1});
  lists.policy.advance(0, 11);
  lists.touch({1});
  EXPECT_EQ(lists.policy.advance(20, 20.49), BackgroundWork{});
  EXPECT_EQ(lists.policy.advance(20.49, 20.51), (BackgroundWork{kPage, kPage}));
}

// Passes longer than a step find everything touched: nothing is ever inactive, and nothing moves.
TEST(ActiveLists, APassSlowerThanTheStepSeesOnlyActivePages) {
  Lists lists(2, 4);
  for (int pass = 1; pass < 6; ++pass) {
    for (int step = 0; step < 3; ++step) lists.touch({0, 1, 2, 3});
    EXPECT_EQ(lists.policy.advance(pass, pass + 0.9), BackgroundWork{});
  }
  EXPECT_EQ(lists.of(0), ActiveLists::kFastActive);
  EXPECT_EQ(lists.of(3), ActiveLists::kSlowActive);
}

}  // namespace
}  // namespace sluice::policies
