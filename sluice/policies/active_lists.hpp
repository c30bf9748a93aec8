// Active and inactive lists of pages, one of each for either tier, as Linux keeps them and Nimble uses them to place
// pages (Yan et al., ASPLOS 2019: the system that Sentinel §VII calls IAL, "a FIFO-based active list", and ReDL §IV-A
// calls OIM).
//
//   - A page touched first gets a fast frame while there is one, else a slow one, and joins its tier's inactive list.
//   - The processor sets a page's accessed bit. A pass sees only whether a page was touched since the last pass, not
//     how often or by whom. If passes are much further apart than a step, a pass finds every page touched, even those
//     of tensors that are dead half of the time. If they are closer together than a layer is long, a pass sees the
//     layer.
//   - A pass, every `scan_period`: an active page whose bit is not set goes to the end of its inactive list; an
//     inactive page whose bit is set goes to the end of its active list; bits are cleared. Then active pages of the
//     slow tier, in list order, are to be promoted: into free frames first, then each in place of the first inactive
//     page of the fast tier, which is demoted. When no inactive page is left there, no more is moved. What an earlier
//     pass wanted and was not done yet is forgotten.
//   - Batches of `concurrent_migrations` pages are moved together by `copy_threads` threads in the background. A page
//     is where it was until its batch is done; then it is at the end of its new tier's list, active if promoted.
// Ops use a page wherever it is. Cost: a pass is linear in pages.
//
// Defaults: 4 threads and 8 concurrent migrations, and for `oim` a pass every 5 s, as ReDL §IV-A gives them. Sentinel
// gives no period for IAL, but says that 0.55 to 3.1 GB move per step (table IV), so there are passes within a step.
// `ial` takes 50 ms. Sentinel's is the improved one with exchange (both directions of a swap at once); `oim` demotes,
// then promotes. `migration_seconds`: 290 to 600 us for 2 MiB in 4 KiB pages by userfaultfd, about 1 us a page
// (measured here).
#pragma once

#include <deque>

#include "sluice/base/as_index.hpp"
#include "sluice/policies/pages.hpp"

namespace sluice::policies {

class ActiveLists final : public Policy {
 public:
  ActiveLists(const PolicyMemory& memory, const PolicyTuning& tuning, bool exchange);

  AccessCharge access(std::span<const Access> accesses, Seconds now, memory::MoveList& moves) override;
  void advance(Seconds from, Seconds to, memory::MoveList& moves) override;
  std::vector<std::pair<std::string, double>> figures() const override;

  enum List : std::uint8_t { kNowhere, kFastActive, kFastInactive, kSlowActive, kSlowInactive, kLists };
  List list_of(PageIndex page) const { return pages_[as_index(page)].list; }

 private:
  struct Page {
    List list = kNowhere;
    bool accessed = false;
  };
  struct Exchange {
    PageIndex promoted = kNoPage;
    PageIndex demoted = kNoPage;  // kNoPage: into a free frame
  };

  static bool is_fast(List list) { return list == kFastActive || list == kFastInactive; }
  Page& page_at(PageIndex page) { return pages_[as_index(page)]; }
  void put(PageIndex page, List list);
  void touch(PageIndex page, memory::MoveList& moves);
  void pass();
  void age(List active, List inactive);
  void choose_exchanges();
  Seconds batch_seconds(std::size_t exchanges) const;
  void finish_batch(std::size_t exchanges, memory::MoveList& moves);

  PolicyMemory memory_;
  PolicyTuning tuning_;
  bool exchange_;
  PageIndex free_frames_;
  std::vector<Page> pages_;
  PageLists lists_;
  std::deque<Exchange> wanted_;  // to do, in order
  CopyProgress progress_;        // of the first batch
  Seconds next_pass_;
  std::int64_t passes_ = 0;
  std::int64_t promotions_ = 0;
  std::int64_t demotions_ = 0;
};

}  // namespace sluice::policies
