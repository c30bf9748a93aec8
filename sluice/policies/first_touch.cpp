// First-touch NUMA allocation, as the kernel does it: a page gets a frame of the fastest tier that has one free when it is
// touched first, and stays there for good (AutoTM §5, ReDL §IV-A, HM-Keeper §8.8: "does not migrate pages after
// memory allocation").
//
// What a framework's allocator frees it keeps for itself: the page remains where it is, and the next tensor on those
// addresses finds it there. (The planner first-touch places whole tensors and knows when each is dead.)
#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/policies/pages.hpp"
#include "sluice/policies/policy.hpp"

namespace sluice::policies {
namespace {

class FirstTouch final : public Policy {
 public:
  FirstTouch(const PolicyMemory& memory, const PolicyTuning& tuning)
      : page_bytes_(tuning.page_bytes),
        tiers_(as_index(pages_in(memory.address_bytes, tuning.page_bytes)), memory::kUntouched) {
    for (const Bytes room : memory.rooms) free_.push_back(room / tuning.page_bytes);
  }

  AccessCharge access(std::span<const Access> accesses, Seconds /*now*/, memory::MoveList& moves) override {
    AccessCharge charge;
    for (const Access& access : accesses) {
      charge_in_place(charge, access, page_bytes_, [&](PageIndex page) { return tier_of(page, moves); });
    }
    return charge;
  }

 private:
  // The fastest tier with a free frame; the last one has room for whatever is left.
  memory::TierId tier_of(PageIndex page, memory::MoveList& moves) {
    memory::TierId& tier = tiers_[as_index(page)];
    if (tier != memory::kUntouched) return tier;
    const auto found = std::ranges::find_if(free_.begin(), free_.end() - 1, [](PageIndex free) { return free > 0; });
    if (*found > 0) --*found;
    tier = as_id<memory::TierId>(found - free_.begin());
    moves.add({.bytes = bytes_of(page, page_bytes_), .to = tier});
    return tier;
  }

  Bytes page_bytes_;
  std::vector<PageIndex> free_;        // by TierId: frames
  std::vector<memory::TierId> tiers_;  // by page
};

}  // namespace

PolicyEntry numa_first_touch_policy() {
  return {"numa-first-touch", "a page goes to fast memory while there is room, and stays where it is",
          PagePolicy{.several_slow_tiers = true, .make = [](const PolicyMemory& memory, const PolicyTuning& tuning) {
                       return std::make_unique<FirstTouch>(memory, tuning);
                     }}};
}

}  // namespace sluice::policies
