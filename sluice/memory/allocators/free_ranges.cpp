#include "sluice/memory/allocators/free_ranges.hpp"

#include <algorithm>
#include <iterator>

#include "sluice/base/check.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::memory {
namespace {

// What of it begins and ends with multiples of `unit`; a negative length where that is nothing.
Interval<Bytes> within(Interval<Bytes> range, Bytes unit) {
  return {align_up(range.begin, unit), range.end / unit * unit};
}

}  // namespace

std::optional<Bytes> FreeRanges::take(Bytes bytes) {
  for (auto range = ranges_.begin(); range != ranges_.end(); ++range) {
    const auto [begin, end] = *range;
    if (end - begin < bytes) continue;
    cut(range, {begin, begin + bytes});
    return begin;
  }
  return std::nullopt;
}

void FreeRanges::take(Interval<Bytes> part) {
  const auto next = ranges_.upper_bound(part.begin);
  SLUICE_CHECK(next != ranges_.begin() && std::prev(next)->second >= part.end, "what is taken is free");
  cut(std::prev(next), part);
}

void FreeRanges::cut(Range range, Interval<Bytes> part) {
  const auto [begin, end] = *range;
  ranges_.erase(range);
  if (begin < part.begin) ranges_.emplace(begin, part.begin);
  if (part.end < end) ranges_.emplace(part.end, end);
  free_bytes_ -= part.length();
}

Bytes FreeRanges::free_from(Bytes begin) const {
  const auto range = ranges_.find(begin);
  return range == ranges_.end() ? 0 : range->second - begin;
}

std::optional<Interval<Bytes>> FreeRanges::largest_within(Bytes unit) const {
  Interval<Bytes> largest;
  for (const auto& [begin, end] : ranges_) {
    const Interval<Bytes> whole = within({begin, end}, unit);
    if (whole.length() > largest.length()) largest = whole;
  }
  if (largest.empty()) return std::nullopt;
  return largest;
}

Bytes FreeRanges::free_within(Bytes unit) const {
  Bytes bytes = 0;
  for (const auto& [begin, end] : ranges_) bytes += std::max<Bytes>(0, within({begin, end}, unit).length());
  return bytes;
}

void FreeRanges::give(Interval<Bytes> range) {
  if (range.empty()) return;
  free_bytes_ += range.length();
  const auto next = ranges_.lower_bound(range.begin);
  SLUICE_CHECK(next == ranges_.end() || next->first >= range.end, "a range is given back once");
  if (next != ranges_.begin()) {
    const auto before = std::prev(next);
    SLUICE_CHECK(before->second <= range.begin, "a range is given back once");
    if (before->second == range.begin) {
      range.begin = before->first;
      ranges_.erase(before);
    }
  }
  if (next != ranges_.end() && next->first == range.end) {
    range.end = next->second;
    ranges_.erase(next);
  }
  ranges_.emplace(range.begin, range.end);
}

}  // namespace sluice::memory
