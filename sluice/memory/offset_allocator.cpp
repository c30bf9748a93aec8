#include "sluice/memory/offset_allocator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include "sluice/base/check.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice {
namespace {

using Time = std::int32_t;

// What has been placed so far: a row for each live interval of an item, by ascending offset. Times and byte ranges are
// kept apart, because a search reads all of the times and few of the ranges, and it is the whole cost.
class Placement {
 public:
  void place(const OffsetItem& item, Bytes bytes, Bytes offset) {
    const auto row = std::upper_bound(ranges_.begin(), ranges_.end(), offset,
                                      [](Bytes value, const Interval<Bytes>& range) { return value < range.begin; });
    const auto index = row - ranges_.begin();
    ranges_.insert(row, item.live.size(), {offset, offset + bytes});
    lives_.insert(lives_.begin() + index, item.live.begin(), item.live.end());
    if (!item.live.empty()) height_ = std::max(height_, offset + bytes);
  }

  bool fits(const OffsetItem& item, Bytes bytes, Bytes offset) const {
    for (std::size_t row = 0; row < lives_.size(); ++row) {
      if (ranges_[row].overlaps({offset, offset + bytes}) && live_together(item, lives_[row])) return false;
    }
    return true;
  }

  // The tightest hole that `bytes` fits into while the item is live; the lowest of equals; else above everything.
  Bytes best_offset(const OffsetItem& item, Bytes bytes) const {
    Bytes best = -1;
    Bytes tightest = std::numeric_limits<Bytes>::max();
    Bytes free_from = 0;
    for (std::size_t row = 0; row < lives_.size(); ++row) {
      if (!live_together(item, lives_[row])) continue;
      const Bytes hole = ranges_[row].begin - free_from;
      if (hole >= bytes && hole < tightest) {
        tightest = hole;
        best = free_from;
      }
      free_from = std::max(free_from, ranges_[row].end);
    }
    return best >= 0 ? best : free_from;
  }

  Bytes height() const { return height_; }

 private:
  static bool live_together(const OffsetItem& item, const Interval<Time>& other) {
    for (const Interval<Time>& live : item.live) {
      if (live.overlaps(other)) return true;
    }
    return false;
  }

  std::vector<Interval<Time>> lives_;    // by row
  std::vector<Interval<Bytes>> ranges_;  // by row
  Bytes height_ = 0;
};

std::vector<Bytes> rounded_sizes(std::span<const OffsetItem> items) {
  std::vector<Bytes> sizes;
  sizes.reserve(items.size());
  for (const OffsetItem& item : items) sizes.push_back(align_up(item.bytes, kTensorAlignment));
  return sizes;
}

Time duration(const OffsetItem& item) {
  return std::accumulate(item.live.begin(), item.live.end(), Time{0},
                         [](Time sum, const Interval<Time>& live) { return sum + live.length(); });
}

Time first_op(const OffsetItem& item) {
  return item.live.empty() ? 0 : std::min_element(item.live.begin(), item.live.end())->begin;
}

// Sorting keys: smaller goes first. Ties go by the second, then by item.
using Key = std::pair<double, double>;
using KeyOf = Key (*)(const OffsetItem&);

Key largest_first(const OffsetItem& item) { return {-static_cast<double>(item.bytes), first_op(item)}; }
Key largest_area_first(const OffsetItem& item) {
  return {-static_cast<double>(item.bytes) * duration(item), first_op(item)};
}
Key longest_first(const OffsetItem& item) { return {-duration(item), -static_cast<double>(item.bytes)}; }
Key earliest_first(const OffsetItem& item) { return {first_op(item), -static_cast<double>(item.bytes)}; }

constexpr std::array<KeyOf, 4> kPortfolio{largest_area_first, largest_first, longest_first, earliest_first};

std::vector<std::size_t> order_by(std::span<const OffsetItem> items, KeyOf key_of) {
  std::vector<std::pair<Key, std::size_t>> keyed;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i].fixed_offset) keyed.emplace_back(key_of(items[i]), i);
  }
  std::sort(keyed.begin(), keyed.end());
  std::vector<std::size_t> order;
  order.reserve(keyed.size());
  for (const auto& [key, item] : keyed) order.push_back(item);
  return order;
}

class Packer {
 public:
  explicit Packer(std::span<const OffsetItem> items) : items_(items), sizes_(rounded_sizes(items)) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (!items[i].fixed_offset) continue;
      const Bytes offset = *items[i].fixed_offset;
      SLUICE_CHECK(offset >= 0 && offset % kTensorAlignment == 0, fmt::format("fixed offset {} of item {}", offset, i));
      SLUICE_CHECK(fixed_.fits(items[i], sizes_[i], offset), fmt::format("fixed item {} overlaps an earlier one", i));
      fixed_.place(items[i], sizes_[i], offset);
    }
  }

  Bytes fixed_height() const { return fixed_.height(); }

  // Fills `offsets` and returns the height.
  Bytes pack(const std::vector<std::size_t>& order, std::vector<Bytes>& offsets) const {
    Placement placement = fixed_;
    for (std::size_t i = 0; i < items_.size(); ++i) offsets[i] = items_[i].fixed_offset.value_or(0);
    for (const std::size_t i : order) {
      offsets[i] = placement.best_offset(items_[i], sizes_[i]);
      placement.place(items_[i], sizes_[i], offsets[i]);
    }
    return placement.height();
  }

 private:
  std::span<const OffsetItem> items_;
  std::vector<Bytes> sizes_;
  Placement fixed_;
};

}  // namespace

Bytes max_live_bytes(std::span<const OffsetItem> items) {
  std::vector<std::pair<Time, Bytes>> changes;
  for (const OffsetItem& item : items) {
    const Bytes bytes = align_up(item.bytes, kTensorAlignment);
    for (const Interval<Time>& live : item.live) {
      changes.emplace_back(live.begin, bytes);
      changes.emplace_back(live.end, -bytes);
    }
  }
  std::sort(changes.begin(), changes.end());  // at equal times, what ends goes first
  Bytes live_now = 0;
  Bytes most = 0;
  for (const auto& [time, change] : changes) most = std::max(most, live_now += change);
  return most;
}

OffsetAssignment assign_offsets(std::span<const OffsetItem> items, Bytes target) {
  const Packer packer(items);
  OffsetAssignment best;
  best.lower_bound = std::max(max_live_bytes(items), packer.fixed_height());
  std::vector<Bytes> offsets(items.size());
  for (const KeyOf key_of : kPortfolio) {
    const Bytes height = packer.pack(order_by(items, key_of), offsets);
    if (best.offsets.empty() || height < best.height) {
      best.height = height;
      best.offsets = offsets;
    }
    if (best.height <= std::max(target, best.lower_bound)) break;
  }
  return best;
}

}  // namespace sluice
