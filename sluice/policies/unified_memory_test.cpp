// Unified memory against cases drawn by hand and a reference LRU that is as plain as can be.
#include "sluice/policies/unified_memory.hpp"

#include <gtest/gtest.h>

#include <array>
#include <list>
#include <set>

#include "sluice/policies/ask_for_tests.hpp"
#include "sluice/testing/random/seeded_random.hpp"

namespace sluice::policies {
namespace {

constexpr Bytes kFaultPage = 4 * kKiB;

Access read_pages(PageIndex begin, PageIndex end) { return {{begin * kFaultPage, end * kFaultPage}, true, false}; }

UnifiedMemory make_unified_memory(PageIndex frames, PageIndex pages, Prefetching prefetching = Prefetching::kNone,
                                  BytesPerSecond bandwidth = 0, PageIndex pages_by_fault = 1) {
  return {two_tiers(frames * kFaultPage, pages * kFaultPage, bandwidth, bandwidth),
          {.page_bytes = kFaultPage, .fault_seconds = 1, .fault_bytes = pages_by_fault * kFaultPage},
          prefetching};
}

TEST(UnifiedMemory, APageWithoutDataIsNotCopied) {
  UnifiedMemory um = make_unified_memory(2, 3);
  const Answer first = ask(um, {read_pages(0, 2)}, 0);
  EXPECT_EQ(first.copied_in, 0);
  EXPECT_EQ(first.copied_out, 0);
  EXPECT_EQ(first.found_fast, 0);
  EXPECT_EQ(first.fault_seconds, 2);
  const Answer second = ask(um, {read_pages(2, 3)}, 0);  // in place of page 0
  EXPECT_EQ(second.copied_in, 0);
  EXPECT_EQ(second.copied_out, kFaultPage);
  const Answer third = ask(um, {read_pages(0, 1)}, 0);  // in place of page 1
  EXPECT_EQ(third.copied_in, kFaultPage);
  EXPECT_EQ(third.copied_out, kFaultPage);
  EXPECT_FALSE(um.is_fast(1));
  EXPECT_TRUE(um.is_fast(2));
}

TEST(UnifiedMemory, OneFaultBringsAdjacentPages) {
  UnifiedMemory um = make_unified_memory(16, 16, Prefetching::kNone, 0, 4);
  ask(um, {read_pages(2, 3)}, 0);
  // Missing: 0 and 1, then 3 to 9: one fault, then 4 pages and 3.
  EXPECT_EQ(ask(um, {read_pages(0, 10)}, 0).fault_seconds, 3);
  EXPECT_EQ(ask(um, {read_pages(0, 10)}, 0).fault_seconds, 0);
}

TEST(UnifiedMemory, AnOpThatDoesNotFitEvictsItself) {
  UnifiedMemory um = make_unified_memory(2, 4);
  const Answer charge = ask(um, {read_pages(0, 4)}, 0);
  EXPECT_EQ(charge.copied_out, 2 * kFaultPage);
  EXPECT_EQ(charge.fault_seconds, 4);
  EXPECT_EQ(ask(um, {read_pages(0, 4)}, 0).found_fast, 2 * kFaultPage);
}

TEST(UnifiedMemory, AHintBringsPagesInTheBackground) {
  UnifiedMemory um = make_unified_memory(4, 8, Prefetching::kHints, kFaultPage);
  ask(um, {read_pages(0, 4)}, 0);
  ask(um, {read_pages(4, 6)}, 0);  // pages 0 and 1 are out
  um.expect(std::array{read_pages(0, 2)}, 0);
  EXPECT_EQ(work(um, 0, 0.5), memory::Copied{});
  EXPECT_EQ(work(um, 0.5, 1.25), (memory::Copied{kFaultPage, kFaultPage}));  // page 0 took a second; 2 went for it
  EXPECT_TRUE(um.is_fast(0));
  EXPECT_FALSE(um.is_fast(2));
  const Answer charge = ask(um, {read_pages(0, 2)}, 2);
  EXPECT_EQ(charge.found_fast, kFaultPage);
  EXPECT_EQ(charge.copied_in, kFaultPage);  // page 1 was not there in time
  EXPECT_EQ(charge.fault_seconds, 1);
  EXPECT_EQ(work(um, 2, 9), memory::Copied{});  // nothing left to bring
}

TEST(UnifiedMemory, AHintTakesNoRoomFromWhatIsInUse) {
  UnifiedMemory um = make_unified_memory(2, 4, Prefetching::kHints, kFaultPage);
  ask(um, {read_pages(0, 4)}, 0);  // 2 and 3 are there
  um.expect(std::array{read_pages(0, 2)}, 0);
  ask(um, {read_pages(2, 4)}, 0);
  EXPECT_EQ(work(um, 0, 10), memory::Copied{});
  um.expect(std::array{read_pages(0, 2)}, 10);
  EXPECT_EQ(work(um, 10, 20), (memory::Copied{2 * kFaultPage, 2 * kFaultPage}));
}

TEST(UnifiedMemory, IgnoresHintsUnlessAskedToPrefetch) {
  UnifiedMemory um = make_unified_memory(1, 2, Prefetching::kNone, kFaultPage);
  ask(um, {read_pages(0, 2)}, 0);
  um.expect(std::array{read_pages(0, 1)}, 0);
  EXPECT_EQ(work(um, 0, 10), memory::Copied{});
  EXPECT_FALSE(um.is_fast(0));
}

// Pages in order of use in a std::list; an op's resident pages are used first, in operand order, then the missing ones.
struct ReferenceLru {
  std::size_t frames;
  std::list<PageIndex> by_use;
  std::set<PageIndex> with_data;
  Bytes in = 0;
  Bytes out = 0;
  Bytes hits = 0;

  bool holds(PageIndex page) const { return std::find(by_use.begin(), by_use.end(), page) != by_use.end(); }

  void access(const std::vector<Access>& accesses) {
    for (const Access& access : accesses) {
      for (PageIndex page = access.bytes.begin / kFaultPage; page <= (access.bytes.end - 1) / kFaultPage; ++page) {
        if (!holds(page)) continue;
        hits += std::min(access.bytes.end, (page + 1) * kFaultPage) - std::max(access.bytes.begin, page * kFaultPage);
        by_use.remove(page);
        by_use.push_back(page);
      }
    }
    for (const Access& access : accesses) {
      for (PageIndex page = access.bytes.begin / kFaultPage; page <= (access.bytes.end - 1) / kFaultPage; ++page) {
        if (holds(page)) continue;
        if (!with_data.insert(page).second) in += kFaultPage;
        if (by_use.size() == frames) {
          by_use.pop_front();
          out += kFaultPage;
        }
        by_use.push_back(page);
      }
    }
  }
};

TEST(UnifiedMemory, EvictsAsAReferenceLruDoes) {
  constexpr std::uint64_t kSeed = 4711;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  testing::SeededRandom random(kSeed);
  const auto below = [&](Bytes limit) { return random.between<Bytes>(0, limit - 1); };
  constexpr PageIndex kPages = 60;
  UnifiedMemory um = make_unified_memory(20, kPages);
  ReferenceLru reference{.frames = 20};
  memory::Copied charged;
  Bytes found = 0;
  for (int op = 0; op < 2000; ++op) {
    std::vector<Access> accesses;
    for (Bytes i = below(3); i >= 0; --i) {
      const Bytes begin = below(kPages * kFaultPage - 1);
      accesses.push_back({{begin, std::min(kPages * kFaultPage, begin + 1 + below(12 * kFaultPage))}, true, false});
    }
    const Answer answer = ask(um, accesses, op);
    charged += memory::copied_by(answer.moves);
    found += answer.found_fast;
    reference.access(accesses);
    ASSERT_EQ(charged.in, reference.in) << "op " << op;
    ASSERT_EQ(charged.out, reference.out) << "op " << op;
    ASSERT_EQ(found, reference.hits) << "op " << op;
  }
  EXPECT_GT(reference.in, 1000 * kFaultPage);
}

}  // namespace
}  // namespace sluice::policies
