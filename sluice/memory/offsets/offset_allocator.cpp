#include "sluice/memory/offsets/offset_allocator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/base/check.hpp"

namespace sluice::memory {
namespace {

using Time = std::int32_t;

// What has been placed so far: a row for each live interval of an item, by ascending offset. Brief items, the great
// majority, meet few others, so rows are also kept by windows of time; long ones read all rows.
class Placement {
 public:
  void place(const OffsetItem& item, Bytes bytes, Bytes offset) {
    if (item.live.empty()) return;
    const Interval<Bytes> range{offset, offset + bytes};
    for (const Interval<Time>& live : item.live) {
      const Row row{range, live};
      insert(rows_, row);
      const auto first = as_index(std::max(0, live.begin / kStride - 1));
      const auto last = as_index(std::max(live.begin, live.end - 1) / kStride);
      if (windows_.size() <= last) windows_.resize(last + 1);
      for (std::size_t window = first; window <= last; ++window) insert(windows_[window], row);
    }
    height_ = std::max(height_, range.end);
  }

  bool fits(const OffsetItem& item, Bytes bytes, Bytes offset) const {
    bool free = true;
    for_ranges_beside(item, [&](const Interval<Bytes>& range) { free &= !range.overlaps({offset, offset + bytes}); });
    return free;
  }

  // Takes the room below everything placed later, for ever: for items that are always live. Only before place().
  Bytes place_always(const OffsetItem& item, Bytes bytes) {
    const Bytes offset = align_up(floor_, item.alignment);
    height_ = floor_ = offset + bytes;
    return offset;
  }

  // The tightest hole that `bytes` fits into while the item is live; the lowest of equals; else above everything.
  Bytes best_offset(const OffsetItem& item, Bytes bytes) const {
    Bytes best = -1;
    Bytes tightest = std::numeric_limits<Bytes>::max();
    Bytes free_from = floor_;
    for_ranges_beside(item, [&](const Interval<Bytes>& range) {
      const Bytes begin = align_up(free_from, item.alignment);
      const Bytes hole = range.begin - begin;
      if (hole >= bytes && hole < tightest) {
        tightest = hole;
        best = begin;
      }
      free_from = std::max(free_from, range.end);
    });
    return best >= 0 ? best : align_up(free_from, item.alignment);
  }

  Bytes height() const { return height_; }

 private:
  struct Row {
    Interval<Bytes> range;
    Interval<Time> live;
  };

  // Window i covers times [i, i + 2) x kStride, so that any interval of at most kStride lies within one.
  static constexpr Time kStride = 32;

  static void insert(std::vector<Row>& rows, const Row& row) {
    const auto lower_offset = [](const Row& a, const Row& b) { return a.range.begin < b.range.begin; };
    rows.insert(std::upper_bound(rows.begin(), rows.end(), row, lower_offset), row);
  }

  const std::vector<Row>& rows_near(const OffsetItem& item) const {
    static const std::vector<Row> kNone;
    if (item.live.size() != 1 || item.live.front().length() > kStride) return rows_;
    const auto window = as_index(item.live.front().begin / kStride);
    return window < windows_.size() ? windows_[window] : kNone;
  }

  // Visits the byte ranges of the rows that overlap the item in time, by ascending offset. Most items live once.
  template <typename Visit>
  void for_ranges_beside(const OffsetItem& item, const Visit& visit) const {
    if (item.live.size() == 1) {
      const Interval<Time> live = item.live.front();
      for (const Row& row : rows_near(item)) {
        if (live.overlaps(row.live)) visit(row.range);
      }
      return;
    }
    for (const Row& row : rows_) {
      const auto overlaps = [&](const Interval<Time>& live) { return live.overlaps(row.live); };
      if (std::any_of(item.live.begin(), item.live.end(), overlaps)) visit(row.range);
    }
  }

  std::vector<Row> rows_;
  std::vector<std::vector<Row>> windows_;  // rows live in each window
  Bytes floor_ = 0;
  Bytes height_ = 0;
};

std::vector<Bytes> rounded_sizes(std::span<const OffsetItem> items) {
  std::vector<Bytes> sizes;
  sizes.reserve(items.size());
  for (const OffsetItem& item : items) sizes.push_back(align_up(item.bytes, item.alignment));
  return sizes;
}

Time duration(const OffsetItem& item) {
  return std::accumulate(item.live.begin(), item.live.end(), Time{0},
                         [](Time sum, const Interval<Time>& live) { return sum + live.length(); });
}

Time begin_of(const OffsetItem& item) {
  return item.live.empty() ? 0 : std::min_element(item.live.begin(), item.live.end())->begin;
}

// Sorting keys: smaller goes first. Ties go by the second, then by item.
using Key = std::pair<double, double>;
using KeyOf = Key (*)(const OffsetItem&);

Key largest_first(const OffsetItem& item) { return {-static_cast<double>(item.bytes), begin_of(item)}; }
Key largest_area_first(const OffsetItem& item) {
  return {-static_cast<double>(item.bytes) * duration(item), begin_of(item)};
}
Key longest_first(const OffsetItem& item) { return {-duration(item), -static_cast<double>(item.bytes)}; }
Key earliest_first(const OffsetItem& item) { return {begin_of(item), -static_cast<double>(item.bytes)}; }

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

Interval<Time> horizon(std::span<const OffsetItem> items) {
  Interval<Time> all{std::numeric_limits<Time>::max(), std::numeric_limits<Time>::min()};
  for (const OffsetItem& item : items) {
    for (const Interval<Time>& live : item.live) {
      all = {std::min(all.begin, live.begin), std::max(all.end, live.end)};
    }
  }
  return all;
}

class Packer {
 public:
  explicit Packer(std::span<const OffsetItem> items)
      : items_(items), sizes_(rounded_sizes(items)), horizon_(horizon(items)) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (!items[i].fixed_offset) continue;
      const Bytes offset = *items[i].fixed_offset;
      SLUICE_CHECK(offset >= 0 && offset % items[i].alignment == 0,
                   fmt::format("fixed offset {} of item {}", offset, i));
      SLUICE_CHECK(fixed_.fits(items[i], sizes_[i], offset), fmt::format("fixed item {} overlaps an earlier one", i));
      fixed_.place(items[i], sizes_[i], offset);
    }
  }

  Bytes fixed_height() const { return fixed_.height(); }

  // Fills `offsets` and returns the height. Gives up where that reaches `too_high`.
  Bytes pack(const std::vector<std::size_t>& order, std::vector<Bytes>& offsets, Bytes too_high) const {
    Placement placement = fixed_;
    for (std::size_t i = 0; i < items_.size(); ++i) offsets[i] = items_[i].fixed_offset.value_or(0);
    if (fixed_.height() == 0) {
      for (const std::size_t i : order) {
        if (always_live(items_[i])) offsets[i] = placement.place_always(items_[i], sizes_[i]);
      }
    }
    for (const std::size_t i : order) {
      if (fixed_.height() == 0 && always_live(items_[i])) continue;
      offsets[i] = placement.best_offset(items_[i], sizes_[i]);
      placement.place(items_[i], sizes_[i], offsets[i]);
      if (placement.height() >= too_high) break;
    }
    return placement.height();
  }

 private:
  // Live whenever anything is. Hundreds of small items are, and every other item would have to look at
  // each of them.
  bool always_live(const OffsetItem& item) const { return item.live.size() == 1 && item.live.front() == horizon_; }

  std::span<const OffsetItem> items_;
  std::vector<Bytes> sizes_;
  Interval<Time> horizon_;
  Placement fixed_;
};

// The lowest; the first of at most `target`. Nothing where all reach `too_high`.
std::optional<OffsetAssignment> best_of_orders(std::span<const OffsetItem> items, Bytes most_live, Bytes target,
                                               Bytes too_high) {
  const Packer packer(items);
  const Bytes lower_bound = std::max(most_live, packer.fixed_height());
  std::optional<OffsetAssignment> best;
  std::vector<Bytes> offsets(items.size());
  for (const KeyOf key_of : kPortfolio) {
    const Bytes height = packer.pack(order_by(items, key_of), offsets, too_high);
    if (height >= too_high) continue;
    best = {offsets, height, lower_bound};
    too_high = height;
    if (height <= std::max(target, lower_bound)) break;
  }
  return best;
}

}  // namespace

Bytes height_of(std::span<const OffsetItem> items, std::span<const Bytes> offsets) {
  Bytes height = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i].live.empty()) height = std::max(height, offsets[i] + align_up(items[i].bytes, items[i].alignment));
  }
  return height;
}

Bytes max_live_bytes(std::span<const OffsetItem> items) {
  std::vector<std::pair<Time, Bytes>> changes;
  for (const OffsetItem& item : items) {
    const Bytes bytes = align_up(item.bytes, item.alignment);
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
  return *best_of_orders(items, max_live_bytes(items), target, std::numeric_limits<Bytes>::max());
}

std::optional<OffsetAssignment> assign_offsets_within(std::span<const OffsetItem> items, Bytes budget) {
  const Bytes most_live = max_live_bytes(items);
  if (most_live > budget) return std::nullopt;
  return best_of_orders(items, most_live, budget, budget + 1);
}

}  // namespace sluice::memory
