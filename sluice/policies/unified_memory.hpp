// Unified memory: an op finds every page in fast memory, because a page that is not there is brought on a fault, in
// place of the least recently used one ("automatically moves tensors from CPU to GPU in the event of a GPU page fault,
// and moves least-used pages from GPU to CPU", Sentinel §VII-C).
//
//   - A page holds data from its first touch on; before, it takes a frame and nothing is copied. What is freed is not
//     known, so a dead page is copied out and in like any other.
//   - Those pages of an op that are in fast memory count as used before its first fault, so that they are not evicted
//     for each other. An op whose operands do not fit evicts its own pages and never fails.
//   - Adjacent missing pages of an operand are brought by one fault, up to `fault_bytes`.
//   - The op waits for faults and copies; both directions of the link copy at once.
// With prefetching, every hint (the next layer's operands) becomes a list of missing pages. They are copied in the
// background while the layer runs. Least recently used pages go out for them, but no page that was used or asked for
// since the hint. An op that comes to a page too early faults on it.
//
// Defaults: pages of 64 KiB and 2 MiB per fault, like NVIDIA's driver on x86: it migrates 64 KiB at least and its tree
// prefetcher grows a fault to 2 MiB at most. 30 us a fault: published figures for its handling lie between 20 and 50.
// Simplified: the driver only learns of uses through faults and evicts 2 MiB blocks; here the order is true LRU by
// page.
#pragma once

#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/policies/pages.hpp"

namespace sluice::policies {

enum class Prefetching { kNone, kHints };

class UnifiedMemory final : public Policy {
 public:
  UnifiedMemory(const PolicyMemory& memory, const PolicyTuning& tuning, Prefetching prefetching);

  AccessCharge access(std::span<const Access> accesses, Seconds now, memory::MoveList& moves) override;
  void expect(std::span<const Access> upcoming, Seconds now) override;
  void advance(Seconds from, Seconds to, memory::MoveList& moves) override;
  std::vector<std::pair<std::string, double>> figures() const override;

  bool is_fast(PageIndex page) const { return pages_[as_index(page)].fast; }

 private:
  struct Page {
    bool fast = false;
    bool holds_data = false;
    std::int64_t used_since = 0;  // the number of the last hint after which it was used or asked for
  };
  static constexpr std::size_t kByUse = 0;  // fast pages, the least recently used first

  Page& page_at(PageIndex page) { return pages_[as_index(page)]; }
  void use(PageIndex page);
  void bring(PageIndex page, memory::MoveList& moves);
  void access_range(const Access& access, AccessCharge& charge, memory::MoveList& moves);

  PolicyMemory memory_;
  PolicyTuning tuning_;
  Prefetching prefetching_;
  PageIndex frames_;  // in all
  std::vector<Page> pages_;
  PageLists by_use_;
  std::vector<PageIndex> asked_for_;  // by hints, in order; some may have been brought since
  std::size_t next_asked_ = 0;
  CopyProgress progress_;
  std::int64_t hint_ = 0;
  std::int64_t faults_ = 0;
  std::int64_t prefetched_ = 0;
};

}  // namespace sluice::policies
