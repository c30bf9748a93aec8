// First-touch NUMA allocation, as the kernel does it: a page gets a fast frame when it is touched first and there is
// one, else a slow one, and stays there for good (AutoTM §5, ReDL §IV-A, HM-Keeper §8.8: "does not migrate pages after
// memory allocation").
//
// What a framework's allocator frees it keeps for itself: the page remains where it is, and the next tensor on those
// addresses finds it there. (The planner first-touch places whole tensors and knows when each is dead.)
#include "sluice/base/as_index.hpp"
#include "sluice/policies/pages.hpp"
#include "sluice/policies/policy.hpp"

namespace sluice::policies {
namespace {

class FirstTouch final : public Policy {
 public:
  FirstTouch(const PolicyMemory& memory, const PolicyTuning& tuning)
      : page_bytes_(tuning.page_bytes),
        frames_(memory.fast_bytes / tuning.page_bytes),
        places_(as_index(pages_in(memory.address_bytes, tuning.page_bytes)), Place::kUntouched) {}

  AccessCharge access(std::span<const Access> accesses, Seconds /*now*/) override {
    AccessCharge charge;
    for (const Access& access : accesses) {
      charge_in_place(charge, access, page_bytes_, [&](PageIndex page) { return place_of(page) == Place::kFast; });
    }
    return charge;
  }

 private:
  enum class Place : std::uint8_t { kUntouched, kFast, kSlow };

  Place place_of(PageIndex page) {
    Place& place = places_[as_index(page)];
    if (place != Place::kUntouched) return place;
    place = frames_ > 0 ? Place::kFast : Place::kSlow;
    if (place == Place::kFast) --frames_;
    return place;
  }

  Bytes page_bytes_;
  PageIndex frames_;  // free fast ones
  std::vector<Place> places_;
};

}  // namespace

PolicyEntry numa_first_touch_policy() {
  return {"numa-first-touch", "a page goes to fast memory while there is room, and stays where it is",
          PagePolicy{.make = [](const PolicyMemory& memory, const PolicyTuning& tuning) {
            return std::make_unique<FirstTouch>(memory, tuning);
          }}};
}

}  // namespace sluice::policies
