#include "sluice/memory/offsets/offset_packer.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "sluice/memory/offsets/offset_search.hpp"

namespace sluice::memory {
namespace {

// Of the budget: what makes an item large. Finer where the small ones do not fit around the large.
constexpr std::array<Bytes, 3> kLargeShares{100, 400, 1600};

// The problem cut in three, and all of it with the offsets found so far fixed.
class LayeredPacking {
 public:
  LayeredPacking(std::span<const OffsetItem> items, Bytes large) : items_(items.begin(), items.end()) {
    Interval<std::int32_t> horizon{std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min()};
    for (const OffsetItem& item : items) {
      for (const auto& live : item.live) {
        horizon = {std::min(horizon.begin, live.begin), std::max(horizon.end, live.end)};
      }
    }
    std::vector<std::size_t> always;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (items[i].live.size() == 1 && items[i].live.front() == horizon) {
        always.push_back(i);
      } else if (items[i].bytes >= large && !items[i].live.empty()) {
        large_.push_back(i);
        large_items_.push_back(items[i]);
        coarsest_ = std::max(coarsest_, items[i].alignment);
      }
    }
    std::ranges::stable_sort(always, std::greater(), [&](std::size_t i) { return items[i].alignment; });
    for (const std::size_t i : always) {
      base_ = align_up(base_, items[i].alignment);
      items_[i].fixed_offset = base_;
      base_ += align_up(items[i].bytes, items[i].alignment);
    }
    base_ = align_up(base_, coarsest_);
  }

  // Puts the large items below `budget`, the others around them. Nothing where the search finds no way. Takes what the
  // search spent from `effort`.
  std::optional<OffsetAssignment> pack(Bytes budget, std::int64_t& effort) {
    if (effort <= 0) return std::nullopt;
    const SearchResult found = search_offsets(large_items_, budget - base_, {.effort = effort});
    effort -= found.looks;
    if (found.verdict != SearchVerdict::kFound) return std::nullopt;
    for (std::size_t i = 0; i < large_.size(); ++i) items_[large_[i]].fixed_offset = base_ + found.offsets[i];
    return assign_offsets(items_, budget);
  }

 private:
  std::vector<OffsetItem> items_;
  std::vector<std::size_t> large_;
  std::vector<OffsetItem> large_items_;
  Bytes coarsest_ = 1;  // alignment of a large item
  Bytes base_ = 0;      // the end of what is always live
};

}  // namespace

OffsetAssignment pack_offsets(std::span<const OffsetItem> items, Bytes budget, std::int64_t effort) {
  OffsetAssignment best = assign_offsets(items, budget);
  const bool any_fixed =
      std::ranges::any_of(items, [](const OffsetItem& item) { return item.fixed_offset.has_value(); });
  if (best.height <= budget || best.lower_bound > budget || any_fixed) return best;
  for (const Bytes share : kLargeShares) {
    const std::optional<OffsetAssignment> packed = LayeredPacking(items, budget / share).pack(budget, effort);
    if (!packed) break;
    if (packed->height < best.height) {
      best.height = packed->height;
      best.offsets = packed->offsets;
    }
    if (packed->height <= budget) break;
  }
  return best;
}

}  // namespace sluice::memory
