// What the policies that see pages have in common: which pages an access touches, lists of pages, and copies that take
// longer than one call of advance().
#pragma once

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/policies/policy.hpp"

namespace sluice::policies {

using PageIndex = std::int64_t;

inline constexpr PageIndex kNoPage = -1;

inline PageIndex pages_in(Bytes bytes, Bytes page_bytes) { return (bytes + page_bytes - 1) / page_bytes; }

// Calls visit(page, bytes of the access on it), in address order.
template <typename Visit>
void for_pages(const Access& access, Bytes page_bytes, const Visit& visit) {
  for (PageIndex page = access.bytes.begin / page_bytes; page * page_bytes < access.bytes.end; ++page) {
    const Bytes begin = std::max(access.bytes.begin, page * page_bytes);
    visit(page, std::min(access.bytes.end, (page + 1) * page_bytes) - begin);
  }
}

inline Interval<Bytes> bytes_of(PageIndex page, Bytes page_bytes) {
  return {page * page_bytes, (page + 1) * page_bytes};
}

// Adds an access whose pages are used where they are; tier_of(page) says where that is.
template <typename TierOf>
void charge_in_place(AccessCharge& charge, const Access& access, Bytes page_bytes, const TierOf& tier_of) {
  std::vector<Bytes> found(1, 0);  // by TierId
  for_pages(access, page_bytes, [&](PageIndex page, Bytes bytes) {
    const auto tier = as_index(tier_of(page));
    if (found.size() <= tier) found.resize(tier + 1);
    found[tier] += bytes;
  });
  for (std::size_t tier = 1; tier < found.size(); ++tier) {
    charge.add_slow(as_id<memory::TierId>(tier), access.traffic_of(found[tier]));
  }
  charge.add_operand(access.bytes.length(), found[memory::kFastTier]);
}

// First-in-first-out lists of pages, threaded through arrays by page: a page is in one list at most, and every step is
// O(1) without an allocation.
class PageLists {
 public:
  PageLists(PageIndex pages, std::size_t lists)
      : before_(as_index(pages), kNoPage), behind_(as_index(pages), kNoPage), ends_(lists) {}

  void append(std::size_t list, PageIndex page) {
    Ends& ends = ends_[list];
    before_[as_index(page)] = ends.last;
    behind_[as_index(page)] = kNoPage;
    (ends.last == kNoPage ? ends.first : behind_[as_index(ends.last)]) = page;
    ends.last = page;
    ++ends.size;
  }

  void remove(std::size_t list, PageIndex page) {
    Ends& ends = ends_[list];
    const PageIndex before = before_[as_index(page)];
    const PageIndex behind = behind_[as_index(page)];
    (before == kNoPage ? ends.first : behind_[as_index(before)]) = behind;
    (behind == kNoPage ? ends.last : before_[as_index(behind)]) = before;
    --ends.size;
  }

  PageIndex first(std::size_t list) const { return ends_[list].first; }
  PageIndex behind(PageIndex page) const { return behind_[as_index(page)]; }
  PageIndex size(std::size_t list) const { return ends_[list].size; }

 private:
  struct Ends {
    PageIndex first = kNoPage;
    PageIndex last = kNoPage;
    PageIndex size = 0;
  };

  std::vector<PageIndex> before_;
  std::vector<PageIndex> behind_;
  std::vector<Ends> ends_;
};

// A copy under way: work of `seconds`, done in as many spans of time as it takes.
class CopyProgress {
 public:
  // Works from `now` on, until `end` at most. True: the copy is done, and `now` is when; the next one starts anew.
  bool work(Seconds seconds, Seconds& now, Seconds end) {
    const Seconds left = seconds - done_;
    if (left > end - now) {
      done_ += end - now;
      now = end;
      return false;
    }
    now += std::max(left, 0.0);
    done_ = 0;
    return true;
  }

 private:
  Seconds done_ = 0;
};

// Of two tiers: seconds to copy `in` bytes into and `out` bytes out of fast memory: both directions at once where the mover can
// (`exchange`), else one after the other; no faster than its threads.
inline Seconds background_seconds(const PolicyMemory& memory, const PolicyTuning& tuning, Bytes in, Bytes out,
                                  bool exchange) {
  const BytesPerSecond threads = tuning.copy_threads * tuning.copy_thread_bandwidth;
  const auto seconds = [&](Bytes bytes, BytesPerSecond link) {
    return link > 0 ? static_cast<Seconds>(bytes) / std::min(link, threads) : 0;
  };
  const Seconds inward = seconds(in, memory.bandwidth(kSlowTier, memory::kFastTier));
  const Seconds outward = seconds(out, memory.bandwidth(memory::kFastTier, kSlowTier));
  return exchange ? std::max(inward, outward) : inward + outward;
}

}  // namespace sluice::policies
