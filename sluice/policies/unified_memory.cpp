#include "sluice/policies/unified_memory.hpp"

#include "sluice/base/as_index.hpp"
#include "sluice/policies/policy.hpp"

namespace sluice::policies {

UnifiedMemory::UnifiedMemory(const PolicyMemory& memory, const PolicyTuning& tuning, Prefetching prefetching)
    : memory_(memory),
      tuning_(tuning),
      prefetching_(prefetching),
      frames_(memory.fast_bytes() / tuning.page_bytes),
      pages_(as_index(pages_in(memory.address_bytes, tuning.page_bytes))),
      by_use_(pages_in(memory.address_bytes, tuning.page_bytes), 1) {}

void UnifiedMemory::use(PageIndex page) {
  by_use_.remove(kByUse, page);
  by_use_.append(kByUse, page);
  page_at(page).used_since = hint_;
}

// Where there is no frame, the least recently used page goes.
void UnifiedMemory::bring(PageIndex page, memory::MoveList& moves) {
  if (by_use_.size(kByUse) >= frames_) {
    const PageIndex oldest = by_use_.first(kByUse);
    by_use_.remove(kByUse, oldest);
    page_at(oldest).fast = false;
    moves.add({bytes_of(oldest, tuning_.page_bytes), memory::kFastTier, kSlowTier});
  }
  by_use_.append(kByUse, page);
  moves.add({bytes_of(page, tuning_.page_bytes), page_at(page).holds_data ? kSlowTier : memory::kUntouched,
             memory::kFastTier});
  page_at(page) = {.fast = true, .holds_data = true, .used_since = hint_};
}

AccessCharge UnifiedMemory::access(std::span<const Access> accesses, Seconds /*now*/, memory::MoveList& moves) {
  AccessCharge charge;
  for (const Access& access : accesses) {
    Bytes found = 0;
    for_pages(access, tuning_.page_bytes, [&](PageIndex page, Bytes bytes) {
      if (!is_fast(page)) return;
      found += bytes;
      use(page);
    });
    charge.add_operand(access.bytes.length(), found);
  }
  for (const Access& access : accesses) access_range(access, charge, moves);
  return charge;
}

// One fault brings adjacent missing pages, up to fault_bytes; a page that is there ends the run.
void UnifiedMemory::access_range(const Access& access, AccessCharge& charge, memory::MoveList& moves) {
  Bytes missing = 0;  // of the fault that adjacent pages may still join
  for_pages(access, tuning_.page_bytes, [&](PageIndex page, Bytes /*bytes*/) {
    if (is_fast(page)) {
      missing = 0;
      return;
    }
    if (missing == 0 || missing + tuning_.page_bytes > tuning_.fault_bytes) {
      ++faults_;
      charge.fault_seconds += tuning_.fault_seconds;
      missing = 0;
    }
    missing += tuning_.page_bytes;
    bring(page, moves);
  });
}

void UnifiedMemory::expect(std::span<const Access> upcoming, Seconds /*now*/) {
  if (prefetching_ == Prefetching::kNone) return;
  ++hint_;
  asked_for_.clear();
  next_asked_ = 0;
  progress_ = {};
  for (const Access& access : upcoming) {
    for_pages(access, tuning_.page_bytes, [&](PageIndex page, Bytes /*bytes*/) {
      if (is_fast(page)) {
        use(page);
      } else if (page_at(page).holds_data) {
        asked_for_.push_back(page);
      }
    });
  }
}

// Prefetches in the order asked for, until the oldest page is one that the same hint wants kept.
void UnifiedMemory::advance(Seconds from, Seconds to, memory::MoveList& moves) {
  for (Seconds now = from; next_asked_ < asked_for_.size();) {
    const PageIndex page = asked_for_[next_asked_];
    if (is_fast(page)) {
      ++next_asked_;
      continue;
    }
    const bool full = by_use_.size(kByUse) >= frames_;
    if (full && page_at(by_use_.first(kByUse)).used_since == hint_) break;
    const Bytes out = full ? tuning_.page_bytes : 0;
    if (!progress_.work(background_seconds(memory_, tuning_, tuning_.page_bytes, out, true), now, to)) break;
    bring(page, moves);
    ++prefetched_;
    ++next_asked_;
  }
}

std::vector<std::pair<std::string, double>> UnifiedMemory::figures() const {
  return {{"faults", static_cast<double>(faults_)}, {"pages prefetched", static_cast<double>(prefetched_)}};
}

namespace {

PolicyEntry unified_memory_policy(std::string_view name, std::string_view summary, Prefetching prefetching) {
  return {name, summary,
          PagePolicy{.addressable = false,
                     .defaults = {.page_bytes = 64 * kKiB, .fault_seconds = 30e-6, .fault_bytes = 2 * kMiB},
                     .make = [prefetching](const PolicyMemory& memory, const PolicyTuning& tuning) {
                       return std::make_unique<UnifiedMemory>(memory, tuning, prefetching);
                     }}};
}

}  // namespace

PolicyEntry um_policy() {
  return unified_memory_policy("um", "unified memory: fault on demand, evict the least recently used",
                               Prefetching::kNone);
}

PolicyEntry um_prefetch_policy() {
  return unified_memory_policy("um-prefetch", "the same, the next layer's operands asked for ahead",
                               Prefetching::kHints);
}

}  // namespace sluice::policies
