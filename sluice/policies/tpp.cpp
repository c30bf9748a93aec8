// Transparent page placement (Maruf et al., ASPLOS 2023, "TPP"): what Linux does since 5.18 with memory of several speeds,
// built on its lists of pages, its reclaim and its NUMA hint faults.
//
//   - A page touched first gets a fast frame while there is one, else a slow one, and joins its tier's inactive list.
//   - Demotion (section 5.1, 5.2): while fewer than `kHeadroom` of the fast frames are free, the oldest inactive page of
//     the fast tier goes to the slow tier. One that was touched since it came there has a second chance and becomes active;
//     when active pages are more than inactive ones, the oldest of them become inactive first. So there is room for what
//     comes next before it comes.
//   - Promotion (section 5.3): every `scan_period` all slow pages are unmapped, so that the next touch of each is a fault
//     of `fault_seconds`. One fault makes a page active; a fault on an active page has it promoted. So it takes touches
//     in two periods, and a page touched once does not come.
// Ops use a page wherever it is. Cost: a scan is linear in pages.
//
// Defaults: the headroom is demote_scale_factor's 2 % (section 5.2); the period is the shortest that Linux scans at (1 s,
// numa_balancing_scan_period_min_ms); one thread copies, as each node has one kswapd; a page at a time, 1 us to unmap and
// map it (ial's, measured here), 1 us for a hint fault, about that of a minor fault.
// Simplified: Linux copies a page that is promoted within the fault, here the background thread does; it scans 256 MiB at
// a time and lengthens the period where nothing comes of it, here all pages are unmapped at once.
#include <algorithm>
#include <deque>

#include "sluice/policies/pages.hpp"
#include "sluice/policies/policy.hpp"

namespace sluice::policies {
namespace {

constexpr double kHeadroom = 0.02;

class TransparentPlacement final : public Policy {
 public:
  TransparentPlacement(const PolicyMemory& memory, const PolicyTuning& tuning)
      : memory_(memory),
        tuning_(tuning),
        free_frames_(memory.fast_bytes() / tuning.page_bytes),
        headroom_(std::max<PageIndex>(1, static_cast<PageIndex>(kHeadroom * static_cast<double>(free_frames_)))),
        pages_(as_index(pages_in(memory.address_bytes, tuning.page_bytes))),
        lists_(pages_in(memory.address_bytes, tuning.page_bytes), kLists),
        next_scan_(tuning.scan_period) {}

  AccessCharge access(std::span<const Access> accesses, Seconds /*now*/, memory::MoveList& moves) override {
    AccessCharge charge;
    for (const Access& access : accesses) {
      charge_in_place(charge, access, tuning_.page_bytes, [&](PageIndex page) {
        if (touch(page, moves)) charge.fault_seconds += tuning_.fault_seconds;
        return is_fast(page) ? memory::kFastTier : kSlowTier;
      });
    }
    return charge;
  }

  void advance(Seconds from, Seconds to, memory::MoveList& moves) override {
    Seconds now = from;
    do {
      if (now >= next_scan_) {
        unmap_slow_pages();
        next_scan_ = now + tuning_.scan_period;
      }
      const Seconds end = std::min(to, next_scan_);
      if (!under_way_.page && !choose_move()) {
        now = end;
      } else if (progress_.work(seconds_of(under_way_), now, end)) {
        finish_move(moves);
      }
    } while (now < to);
  }

  std::vector<std::pair<std::string, double>> figures() const override {
    return {{"hint faults", static_cast<double>(hint_faults_)},
            {"pages promoted", static_cast<double>(promotions_)},
            {"pages demoted", static_cast<double>(demotions_)}};
  }

 private:
  enum List : std::uint8_t { kNowhere, kFastActive, kFastInactive, kSlowActive, kSlowInactive, kLists };
  struct Page {
    List list = kNowhere;
    bool accessed = false;
    bool unmapped = false;
  };
  struct Wanted {
    std::optional<PageIndex> page;
    bool inward = false;
  };

  Page& page_at(PageIndex page) { return pages_[as_index(page)]; }
  bool is_fast(PageIndex page) const {
    const List list = pages_[as_index(page)].list;
    return list == kFastActive || list == kFastInactive;
  }

  void put(PageIndex page, List list) {
    Page& moved = page_at(page);
    if (moved.list != kNowhere) lists_.remove(moved.list, page);
    lists_.append(list, page);
    moved = {.list = list};
  }

  // True: by a fault.
  bool touch(PageIndex page, memory::MoveList& moves) {
    if (page_at(page).list == kNowhere) {
      const bool fast = free_frames_ > 0;
      put(page, fast ? kFastInactive : kSlowInactive);
      if (fast) --free_frames_;
      moves.add({.bytes = bytes_of(page, tuning_.page_bytes), .to = fast ? memory::kFastTier : kSlowTier});
    }
    Page& touched = page_at(page);
    touched.accessed = true;
    if (!touched.unmapped) return false;
    touched.unmapped = false;
    ++hint_faults_;
    touched.list == kSlowActive ? wanted_.push_back(page) : put(page, kSlowActive);
    return true;
  }

  void unmap_slow_pages() {
    for (const List list : {kSlowActive, kSlowInactive}) {
      for (PageIndex page = lists_.first(list); page != kNoPage; page = lists_.behind(page)) {
        page_at(page).unmapped = true;
      }
    }
    wanted_.clear();  // who still wants one faults again
  }

  // False: nothing to do.
  bool choose_move() {
    while (!wanted_.empty() && page_at(wanted_.front()).list != kSlowActive) wanted_.pop_front();  // it has come in
    if (free_frames_ < headroom_) under_way_ = {.page = victim(), .inward = false};
    if (!under_way_.page && free_frames_ > 0 && !wanted_.empty()) {
      under_way_ = {.page = wanted_.front(), .inward = true};
      wanted_.pop_front();
    }
    return under_way_.page.has_value();
  }

  // The oldest page that was not touched since it became inactive.
  std::optional<PageIndex> victim() {
    while (true) {
      while (lists_.size(kFastActive) > lists_.size(kFastInactive)) put(lists_.first(kFastActive), kFastInactive);
      const PageIndex oldest = lists_.first(kFastInactive);
      if (oldest == kNoPage) return std::nullopt;
      if (!page_at(oldest).accessed) return oldest;
      put(oldest, kFastActive);
    }
  }

  Seconds seconds_of(const Wanted& move) const {
    const Bytes in = move.inward ? tuning_.page_bytes : 0;
    return background_seconds(memory_, tuning_, in, tuning_.page_bytes - in, false) + tuning_.migration_seconds;
  }

  void finish_move(memory::MoveList& moves) {
    const auto [page, inward] = std::exchange(under_way_, {});
    if (!inward) {
      put(*page, kSlowInactive);
      ++free_frames_;
      ++demotions_;
      moves.add({bytes_of(*page, tuning_.page_bytes), memory::kFastTier, kSlowTier});
    } else if (free_frames_ > 0) {  // else a page touched first has taken the frame meanwhile
      put(*page, kFastActive);
      --free_frames_;
      ++promotions_;
      moves.add({bytes_of(*page, tuning_.page_bytes), kSlowTier, memory::kFastTier});
    }
  }

  PolicyMemory memory_;
  PolicyTuning tuning_;
  PageIndex free_frames_;
  PageIndex headroom_;  // of free frames
  std::vector<Page> pages_;
  PageLists lists_;
  std::deque<PageIndex> wanted_;  // slow pages to promote
  Wanted under_way_;
  CopyProgress progress_;  // of it
  Seconds next_scan_;
  std::int64_t hint_faults_ = 0;
  std::int64_t promotions_ = 0;
  std::int64_t demotions_ = 0;
};

}  // namespace

PolicyEntry tpp_policy() {
  return {"tpp", "pages touched in two periods come in, the oldest go out ahead of need (Linux; Maruf et al. 2023)",
          PagePolicy{.defaults = {.scan_period = 1, .fault_seconds = 1e-6},
                     .make = [](const PolicyMemory& memory, const PolicyTuning& tuning) {
                       return std::make_unique<TransparentPlacement>(memory, tuning);
                     }}};
}

}  // namespace sluice::policies
